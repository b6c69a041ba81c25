// Filters and sorts a table of students. Without scripts the table is shown unchanged.
(() => {
  const table = document.getElementById("table-of-students");
  if (!table) return;
  const body = table.tBodies[0], rows = [...body.rows], heads = [...table.tHead.rows[0].cells];
  const names = { "": "all", review: "to review", reviewed: "reviewed", "grader failed": "the grader failed",
    "not complete": "not all required points", missing: "something missing" };
  const kinds = row => (row.dataset.kinds || "").split(",");
  const make = (name, words, attributes = {}) => {
    const element = Object.assign(document.createElement(name), { textContent: words });
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    return element;
  };

  // What is shown
  const search = make("input", "", { type: "search", size: 18 }), which = make("select", ""), said = make("span", "", { role: "status" });
  for (const [kind, name] of Object.entries(names)) {
    const count = kind ? rows.filter(row => kinds(row).includes(kind)).length : rows.length;
    if (count || !kind) which.append(make("option", `${name} (${count})`, { value: kind }));
  }
  function filter() {
    const words = search.value.toLowerCase();
    let shown = 0;
    for (const row of rows) {
      row.hidden = !row.textContent.toLowerCase().includes(words) || (which.value !== "" && !kinds(row).includes(which.value));
      shown += !row.hidden;
    }
    said.textContent = `${shown} of ${rows.length}`;
  }
  search.addEventListener("input", filter);
  which.addEventListener("change", filter);
  const label = (words, control) => { const element = make("label", words + " "); element.append(control); return element; };
  const line = make("p", "", { class: "controls" });
  line.append(label("Find (key /)", search), label("Show", which), said);
  table.closest(".scroll").before(line);
  filter();

  // The order: numbers by size, with missing ones at the end; everything else alphabetically.
  const value = (row, column) => row.cells[column].textContent.trim();
  function sort(column, down) {
    const numbers = rows.map(row => parseFloat(value(row, column)));
    const numeric = numbers.some(number => !Number.isNaN(number)) && column > 0;
    const key = row => numeric ? parseFloat(value(row, column)) : value(row, column).toLowerCase();
    const order = (a, b) => {
      const [x, y] = [key(a), key(b)];
      if (numeric && (Number.isNaN(x) || Number.isNaN(y))) return Number.isNaN(x) - Number.isNaN(y);
      return (x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1);
    };
    rows.sort(order).forEach(row => body.append(row));
    heads.forEach((head, i) => i === column ? head.setAttribute("aria-sort", down ? "descending" : "ascending")
      : head.removeAttribute("aria-sort"));
  }
  heads.forEach((head, column) => {
    const button = make("button", "", { type: "button", class: "sort" });
    button.append(...head.childNodes);
    button.addEventListener("click", () => sort(column, head.getAttribute("aria-sort") !== "descending" && column > 0
      || head.getAttribute("aria-sort") === "ascending"));
    head.append(button);
  });

  // The keyboard: "/" to find, the arrows from one student to the next
  document.addEventListener("keydown", event => {
    if (event.key === "/" && !/^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName)) {
      event.preventDefault();
      search.focus();
    }
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const links = rows.filter(row => !row.hidden).map(row => row.querySelector("a")).filter(Boolean);
    const place = links.findIndex(link => link.closest("tr").contains(document.activeElement));
    if (step && (place >= 0 || document.activeElement === search) && links[place + step]) {
      event.preventDefault();
      links[place + step].focus();
    }
  });
})();
