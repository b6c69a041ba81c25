// The page for review: rows of review.csv, written in a form and saved as a file. Nothing is sent anywhere.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const COLUMNS = ["student", "test", "points", "reason", "who", "when"];
  const students = new Map(data.students.map(student => [student.name, student]));
  const rows = data.rows.map(row => ({ ...row }));
  const form = document.getElementById("form"), field = name => form.elements.namedItem(name);
  const at = id => document.getElementById(id);
  let changes = 0;

  function make(name, words = "", attributes = {}, ...children) {
    const element = Object.assign(document.createElement(name), { textContent: words });
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children);
    return element;
  }
  const button = (words, about, action) => {
    const element = make("button", words, { type: "button", "aria-label": `${words}: ${about}` });
    element.addEventListener("click", action);
    return element;
  };

  // The form
  field("student").append(...data.students.map(({ name }) => make("option", name, { value: name })));
  const tests = () => Object.keys((students.get(field("student").value) || { tests: {} }).tests);
  function showTests(chosen = "") {
    field("test").replaceChildren(make("option", "the whole: a comment", { value: "" }),
      ...tests().map(name => make("option", name, { value: name })));
    field("test").value = tests().includes(chosen) ? chosen : "";
    showNow();
  }
  function showNow() {
    const test = (students.get(field("student").value) || { tests: {} }).tests[field("test").value];
    at("now").textContent = test ? `now ${test.points} of ${test.most}, ${test.status}` : "";
    field("points").disabled = !test;
    if (!test) field("points").value = "";
  }
  field("student").addEventListener("change", () => showTests());
  field("test").addEventListener("change", showNow);

  // What is wrong with the row in the form, in the words of batch, or ""
  function problem({ student, test, points, reason }) {
    if (!points && !reason) return "Write points, or something for the student.";
    if (!points) return "";
    const most = students.get(student).tests[test].most;
    if (!/^\d+([.,]\d+)?$/.test(points)) return "Points are a number that is not negative.";
    if (Number(points.replace(",", ".")) > most) return `The test has ${most} points.`;
    if (!reason) return "Points change with a reason: the student reads it.";
    const same = row => row.student === student && row.points
      && (row.test === test || row.test.startsWith(test + ".") || test.startsWith(row.test + "."));
    return rows.some(same) ? `A row sets points of ${student} for this test already: edit or remove it.` : "";
  }
  const today = () => {
    const now = new Date(), two = number => String(number).padStart(2, "0");
    return `${now.getFullYear()}-${two(now.getMonth() + 1)}-${two(now.getDate())}`;
  };
  form.addEventListener("submit", event => {
    event.preventDefault();
    const row = Object.fromEntries(COLUMNS.map(name => [name, name === "when" ? today() : field(name).value.trim()]));
    const wrong = problem(row);
    at("said").textContent = wrong || `Written for ${row.student}.`;
    if (wrong) return;
    rows.push(row);
    remember(row.who);
    field("points").value = field("reason").value = "";
    changed();
  });
  function remember(who) { try { localStorage.setItem("who", who); } catch { /* a page of a file may have no memory */ } }
  try { field("who").value = localStorage.getItem("who") || ""; } catch { /* as above */ }

  // The rows, and the list of what is to be looked at
  function draw() {
    at("decisions").replaceChildren(...rows.map((row, place) => make("tr", "", {},
      make("th", row.student, { scope: "row", class: "name" }), make("td", row.test), make("td", row.points, { class: "n" }),
      make("td", row.reason || (row.points ? "" : "looked at"), { class: "text" }), make("td", row.who), make("td", row.when),
      make("td", "", {}, button("edit", `row of ${row.student}`, () => edit(place)), " ",
        button("remove", `row of ${row.student}`, () => { rows.splice(place, 1); changed(); })))));
    const seen = new Set(rows.map(row => row.student));
    const open = data.students.filter(student => student.notes.length && !seen.has(student.name));
    const all = data.students.filter(student => student.notes.length).length;
    at("left").textContent = all ? `${open.length} of ${all} left.` : "Nothing.";
    at("work").replaceChildren(...open.map(student => make("li", "", {}, make("a", student.name, { href: student.page, target: "staff" }),
      ": " + student.notes.join(" · ") + " ",
      button("write", student.name, () => choose(student.name)), " ",
      button("looked at", student.name, () => {
        rows.push({ student: student.name, test: "", points: "", reason: "", who: field("who").value.trim(), when: today() });
        changed();
      }))));
  }
  function edit(place) {
    const [row] = rows.splice(place, 1);
    choose(row.student, row.test);
    for (const name of ["points", "reason", "who"]) field(name).value = row[name];
    changed();
  }
  function choose(student, test = "") {
    field("student").value = student;
    showTests(test);
    form.scrollIntoView();
    (test ? field("points") : field("reason")).focus();
  }
  function changed() {
    changes += 1;
    at("unsaved").textContent = "Not saved yet.";
    draw();
  }
  window.addEventListener("beforeunload", event => { if (changes) event.preventDefault(); });

  // The file, as a spreadsheet reads it: a name that it would take for a formula stands behind an apostrophe
  const cell = text => /[",\n\r;]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  const harmless = name => /^[=+\-@\t\r]/.test(name) ? "'" + name : name;
  at("save").addEventListener("click", () => {
    const lines = [COLUMNS, ...rows.map(row => COLUMNS.map(name => name === "student" ? harmless(row[name]) : row[name]))];
    const text = "\ufeff" + lines.map(line => line.map(cell).join(",")).join("\r\n") + "\r\n";
    const link = make("a", "", { href: URL.createObjectURL(new Blob([text], { type: "text/csv" })), download: "review.csv" });
    link.click();
    changes = 0;
    at("unsaved").textContent = "Saved as review.csv: put it in the folder of this page, and run batch again.";
  });

  showTests();
  draw();
  // Links of other pages lead to this tab by its name, so what is not saved yet stays.
  window.name = "review";
  function chosen() {
    const [student, test] = location.hash.slice(1).split("/").map(decodeURIComponent);
    if (students.has(student)) choose(student, test);
  }
  window.addEventListener("hashchange", chosen);
  chosen();
})();
