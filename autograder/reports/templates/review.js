// The review page. Served by `python -m autograder review`, it sends each change at once; as a file it only shows.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const students = new Map(data.students.map(student => [student.name, student]));
  const form = document.getElementById("form"), itemForm = document.getElementById("new-item");
  const field = (name, of = form) => of.elements.namedItem(name);
  const at = id => document.getElementById(id);
  const whose = document.querySelector("[name=whose]");
  const editing = { review: null, rubric: null }; // the row that the form replaces
  let tables = { review: data.review, rubric: data.rubric, requests: data.requests };

  function make(name, words = "", attributes = {}, ...children) {
    const element = Object.assign(document.createElement(name), { textContent: words });
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children);
    return element;
  }
  function button(words, about, action) {
    const element = make("button", words, { type: "button", "aria-label": `${words}: ${about}` });
    element.addEventListener("click", action);
    element.hidden = !data.me;
    return element;
  }
  const options = (select, pairs) => {
    const chosen = select.value;
    select.replaceChildren(...pairs.map(([value, words]) => make("option", words, { value })));
    if (pairs.some(([value]) => value === chosen)) select.value = chosen;
  };

  // Talking to the server. A refused change leaves the form as it is, and says why.
  async function change(table, before, after, done) {
    let answer;
    try {
      const body = JSON.stringify({ table, before, after });
      answer = await fetch("/api/change", { method: "POST", headers: { "Content-Type": "application/json" }, body });
    } catch {
      at("said").textContent = "Not saved: the server does not answer. Is the command still running?";
      return false;
    }
    if (!answer.ok) {
      at("said").textContent = "Not saved: " + await answer.text();
      if (answer.status === 409) await refresh();
      return false;
    }
    tables = await answer.json();
    at("said").textContent = done;
    draw();
    refreshPoints(field("student").value);
    return true;
  }
  async function refresh() {
    try {
      const answer = await fetch("/api/state");
      if (!answer.ok) return;
      const now = await answer.json();
      if (JSON.stringify(now) === JSON.stringify(tables)) return;
      tables = now;
      if (!at("requests").contains(document.activeElement)) draw();
      refreshPoints(field("student").value);
    } catch { /* said at the next change */ }
  }
  async function refreshPoints(name) {
    if (!data.me || !students.has(name)) return;
    try {
      const answer = await fetch("/api/places?student=" + encodeURIComponent(name));
      if (answer.ok) students.get(name).tests = await answer.json();
      showNow();
    } catch { /* as above */ }
  }

  // The form for a row of review.csv
  const places = () => (students.get(field("student").value) || { tests: {} }).tests;
  function showTests(chosen = "") {
    const named = Object.entries(places()).map(([name, one]) => [name, one.status === "stage" ? `stage ${name}` : name]);
    options(field("test"), [["", "the whole, or as the item says"], ...named]);
    field("test").value = chosen in places() ? chosen : "";
    showNow();
    refreshPoints(field("student").value);
  }
  function showNow() {
    const place = places()[field("test").value];
    at("now").textContent = place ? `now ${place.points} of ${place.most}${place.status === "stage" ? "" : `, ${place.status}`}` : "";
  }
  field("student").addEventListener("change", () => showTests());
  field("test").addEventListener("change", showNow);
  form.addEventListener("submit", async event => {
    event.preventDefault();
    const names = ["student", "test", "item", "points", "reason"];
    const row = Object.fromEntries(names.map(name => [name, field(name).value.trim()]));
    if (!row.points && !row.reason && !row.item) {
      at("said").textContent = "Enter points or a comment, or choose an item.";
    } else if (await change("review", editing.review, row, `Saved for ${row.student}.`)) {
      edit("review", null);
      field("item").value = field("points").value = field("reason").value = "";
    }
  });
  at("ask").addEventListener("click", async () => {
    const row = { student: field("student").value, test: field("test").value, request: field("reason").value.trim() };
    row.asked = new Date().toISOString().slice(0, 10);
    if (await change("requests", null, row, `Recorded a request of ${row.student}.`)) field("reason").value = "";
  });
  itemForm.addEventListener("submit", async event => {
    event.preventDefault();
    const row = Object.fromEntries(["item", "on", "points", "comment"].map(name => [name, field(name, itemForm).value.trim()]));
    if (await change("rubric", editing.rubric, row, `Saved the item ${row.item}.`)) {
      edit("rubric", null);
      itemForm.reset();
    }
  });
  function edit(table, row) {
    editing[table] = row;
    const of = table === "review" ? form : itemForm;
    of.querySelector("[type=submit]").textContent = row ? "Save the change" : table === "review" ? "Add" : "Save item";
    if (!row) return;
    if (table === "review") choose(row.student, row.test.replace(/^[^.]+\.(?=test)/, ""));
    for (const name of table === "review" ? ["item", "points", "reason"] : ["item", "on", "points", "comment"]) field(name, of).value = row[name];
    if (table === "rubric") of.scrollIntoView();
  }

  // Lists and tables
  function draw() {
    const used = name => tables.review.filter(row => row.item === name).length;
    const worth = row => Number(row.points.replace(",", ".")) ? ` (${row.points})` : "";
    options(field("item"), [["", "none"], ...tables.rubric.map(row => [row.item, `${row.item}${worth(row)}: ${row.comment.slice(0, 60)}`])]);
    at("decisions").replaceChildren(...tables.review.map(row => make("tr", "", {},
      make("th", row.student, { scope: "row", class: "name" }), make("td", row.test), make("td", row.item), make("td", row.points, { class: "n" }),
      make("td", row.reason || (row.points || row.item ? "" : "reviewed"), { class: "text" }), make("td", row.who), make("td", row.when),
      make("td", "", {}, button("edit", `row of ${row.student}`, () => edit("review", row)), " ",
        button("remove", `row of ${row.student}`, () => change("review", row, null, `Removed a row of ${row.student}.`))))));
    at("items").replaceChildren(...tables.rubric.map(row => make("tr", "", {},
      make("th", row.item, { scope: "row" }), make("td", row.on), make("td", row.points, { class: "n" }), make("td", row.comment, { class: "text" }),
      make("td", used(row.item), { class: "n" }), make("td", "", {}, button("edit", row.item, () => edit("rubric", row)), " ",
        button("remove", row.item, () => change("rubric", row, null, `Removed the item ${row.item}.`))))));
    drawWork();
    drawRequests();
  }
  function drawWork() {
    const seen = new Set(tables.review.map(row => row.student));
    const mine = student => !whose.value || student.reviewer === whose.value;
    const all = data.students.filter(student => (student.notes.length || student.reviewer) && mine(student));
    const open = all.filter(student => !seen.has(student.name));
    at("left").textContent = all.length ? `${open.length} of ${all.length} left.` : "Nothing.";
    at("work").replaceChildren(...open.map(student => make("li", "", {}, make("a", student.name, { href: student.page, target: "staff" }),
      (student.notes.length ? ": " + student.notes.join(" · ") : "") + (student.reviewer && !whose.value ? ` (${student.reviewer})` : "") + " ",
      button("write", student.name, () => choose(student.name)), " ",
      button("mark as reviewed", student.name, () => change("review", null, { student: student.name }, `${student.name} is marked as reviewed.`)))));
  }
  function drawRequests() {
    const open = tables.requests.filter(row => !row.answer), count = tables.requests.length;
    at("open").textContent = count ? `${open.length} of ${count} without an answer.` : "None.";
    at("requests").replaceChildren(...tables.requests.map(row => {
      const words = make("textarea", row.answer, { rows: 2, "aria-label": `Answer to ${row.student}` });
      words.hidden = !data.me;
      const page = (students.get(row.student) || { page: "#asked" }).page;
      const said = row.answer ? `: ${row.answer} (${row.who}, ${row.when})` : "";
      return make("li", "", {}, make("a", row.student, { href: page, target: "staff" }),
        `${row.test ? `, ${row.test}` : ""}${row.asked ? ` (${row.asked})` : ""}: ${row.request} `, make("strong", row.answer ? "answered" : "open"), said, words,
        button(row.answer ? "change the answer" : "answer", row.student, () => {
          words.blur();
          change("requests", row, { ...row, answer: words.value.trim() }, `Answered ${row.student}.`);
        }), " ", button("write", row.student, () => choose(row.student, row.test)));
    }));
  }
  function choose(student, test = "") {
    field("student").value = student;
    showTests(test);
    form.scrollIntoView();
    (test ? field("points") : field("reason")).focus();
  }

  // Start
  options(field("student"), data.students.map(({ name }) => [name, name]));
  const reviewers = [...new Set(data.students.map(student => student.reviewer).filter(Boolean))].sort();
  at("whose").hidden = !reviewers.length;
  options(whose, [["", "all"], ...reviewers.map(name => [name, name === data.me ? "mine" : name])]);
  if (reviewers.includes(data.me)) whose.value = data.me;
  whose.addEventListener("change", drawWork);
  const anywhere = new Set(data.students.flatMap(student => Object.keys(student.tests)));
  options(field("on", itemForm), [["", "anywhere"], ...[...anywhere].map(name => [name, name])]);
  showTests();
  draw();
  if (data.me) setInterval(() => document.hidden || refresh(), 4000);
  // Links on other pages open this tab by its name.
  window.name = "review";
  function chosen() {
    const [student, test] = location.hash.slice(1).split("/").map(decodeURIComponent);
    if (students.has(student) && data.me) choose(student, test);
  }
  window.addEventListener("hashchange", chosen);
  chosen();
})();
