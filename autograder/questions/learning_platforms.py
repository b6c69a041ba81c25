"""Questions for learning platforms: Moodle XML, and a QTI 1.2 package, which Canvas imports.

https://docs.moodle.org/en/Moodle_XML_format, https://www.imsglobal.org/question/qtiv1p2/imsqti_asi_bestv1p2.html
"""

import io
import re
import zipfile
from collections.abc import Sequence
from xml.etree import ElementTree as ET

from autograder.questions.generate import Paper
from autograder.questions.pictures import ILLEGAL, clean, code_html, maps_html
from autograder.questions.question import Question

QTI = "http://www.imsglobal.org/xsd/ims_qtiasiv1p2"
IMSCP = "http://www.imsglobal.org/xsd/imscp_v1p1"
STAMP = (1980, 1, 1, 0, 0, 0)  # of files in the package: the same questions give the same bytes


def as_html(text: str) -> str:
    """A text whose `code` is marked, as HTML."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", clean(text))


def body(question: Question) -> str:
    """The code, the text and the pictures of a question as HTML."""
    return f"{code_html(question)}<p>{as_html(question.text)}</p>{maps_html(question)}"


def moodle_xml(papers: Sequence[Paper], title: str) -> bytes:
    """All questions as a Moodle question bank, a category for each student."""
    quiz = ET.Element("quiz")
    for paper in papers:
        category = ET.SubElement(quiz, "question", type="category")
        name = f"{title}/{paper.student}".replace("//", "/")
        ET.SubElement(ET.SubElement(category, "category"), "text").text = ILLEGAL.sub("", f"$course$/top/{name}")
        for number, question in enumerate(paper.questions, start=1):
            node = ET.SubElement(quiz, "question", type="multichoice")
            ET.SubElement(ET.SubElement(node, "name"), "text").text = ILLEGAL.sub("", f"{paper.student} {number}")
            _moodle_text(node, "questiontext", body(question))
            _moodle_text(node, "generalfeedback", as_html(question.because))
            for tag, value in (("defaultgrade", "1"), ("penalty", "0"), ("single", "true"), ("shuffleanswers", "true")):
                ET.SubElement(node, tag).text = value
            ET.SubElement(node, "answernumbering").text = "ABCD"
            for at, option in enumerate(question.options):
                answer = _moodle_text(node, "answer", as_html(option))
                answer.set("fraction", "100" if at == question.right else "0")
                if question.wrong[at : at + 1] and question.wrong[at]:
                    _moodle_text(answer, "feedback", as_html(question.wrong[at]))
    return ET.tostring(quiz, encoding="utf-8", xml_declaration=True)


def _moodle_text(parent: ET.Element, tag: str, text: str) -> ET.Element:
    node = ET.SubElement(parent, tag, format="html")
    ET.SubElement(node, "text").text = text
    return node


def qti_package(papers: Sequence[Paper], title: str) -> bytes:
    """A zip file with a quiz for each student."""
    manifest = ET.Element("manifest", identifier="questions", xmlns=IMSCP)
    ET.SubElement(manifest, "organizations")
    resources = ET.SubElement(manifest, "resources")
    files: dict[str, bytes] = {}
    for number, paper in enumerate(papers, start=1):
        name = f"quiz{number}.xml"
        resource = ET.SubElement(resources, "resource", identifier=f"quiz{number}", type="imsqti_xmlv1p2", href=name)
        ET.SubElement(resource, "file", href=name)
        files[name] = _assessment(paper, f"quiz{number}", ILLEGAL.sub("", f"{title}, {paper.student}"))
    files["imsmanifest.xml"] = ET.tostring(manifest, encoding="utf-8", xml_declaration=True)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in sorted(files.items()):
            archive.writestr(zipfile.ZipInfo(name, STAMP), data)
    return stream.getvalue()


def _assessment(paper: Paper, ident: str, title: str) -> bytes:
    root = ET.Element("questestinterop", xmlns=QTI)
    assessment = ET.SubElement(root, "assessment", ident=ident, title=title)
    section = ET.SubElement(assessment, "section", ident="root_section")
    for number, question in enumerate(paper.questions, start=1):
        item = ET.SubElement(section, "item", ident=f"{ident}_{number}", title=f"Question {number}")
        fields = ET.SubElement(ET.SubElement(item, "itemmetadata"), "qtimetadata")
        for label, entry in (("question_type", "multiple_choice_question"), ("points_possible", "1")):
            field = ET.SubElement(fields, "qtimetadatafield")
            ET.SubElement(field, "fieldlabel").text = label
            ET.SubElement(field, "fieldentry").text = entry
        presentation = ET.SubElement(item, "presentation")
        _qti_text(presentation, body(question))
        response = ET.SubElement(presentation, "response_lid", ident="response1", rcardinality="Single")
        choices = ET.SubElement(response, "render_choice")
        for at, option in enumerate(question.options):
            _qti_text(ET.SubElement(choices, "response_label", ident=f"option{at}"), as_html(option))
        processing = ET.SubElement(item, "resprocessing")
        outcomes = ET.SubElement(processing, "outcomes")
        ET.SubElement(outcomes, "decvar", maxvalue="100", minvalue="0", varname="SCORE", vartype="Decimal")
        condition = ET.SubElement(processing, "respcondition", {"continue": "No"})
        variable = ET.SubElement(ET.SubElement(condition, "conditionvar"), "varequal", respident="response1")
        variable.text = f"option{question.right}"
        ET.SubElement(condition, "setvar", action="Set", varname="SCORE").text = "100"
    return ET.tostring(root, encoding="utf-8", xml_declaration=True)


def _qti_text(parent: ET.Element, text: str) -> None:
    ET.SubElement(ET.SubElement(parent, "material"), "mattext", texttype="text/html").text = text
