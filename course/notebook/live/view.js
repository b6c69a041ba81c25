// Draws the live view from the data beside it. Nothing is fetched, and no kernel is needed.
(() => {
  const SVG = "http://www.w3.org/2000/svg", CELL = 14;

  // An element with attributes and children; names that begin with "on" are listeners.
  function make(name, attributes = {}, ...children) {
    const drawn = ["svg", "g", "rect", "text", "path"].includes(name);
    const element = drawn ? document.createElementNS(SVG, name) : document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
      else if (value !== null) element.setAttribute(key, value);
    }
    // Otherwise JupyterLab takes the arrow keys for its own commands; it asks the element that has the focus.
    if (["input", "select", "button", "svg"].includes(name)) element.setAttribute("data-lm-suppress-shortcuts", "true");
    element.append(...children);
    return element;
  }

  function unpack({ shape, low, high, data }) {
    const bytes = Uint8Array.from(atob(data), letter => letter.charCodeAt(0));
    const view = new DataView(bytes.buffer);
    const values = Float64Array.from({ length: bytes.length / 2 },
      (_, i) => low + (high - low) * view.getUint16(2 * i, true) / 65535);
    return { shape, low, high, values };
  }

  function colour(points, part) {
    const place = Math.min(Math.max(part, 0), 1) * (points.length - 1);
    const below = Math.min(Math.floor(place), points.length - 2), share = place - below;
    return points[below].map((value, i) => Math.round(value + share * (points[below + 1][i] - value)));
  }

  function menu(label, options, value, changed) {
    const select = make("select", { "aria-label": label, onchange: () => changed(select.value) },
      ...options.map(([name, key]) => make("option", { value: key }, name)));
    select.value = value;
    return make("label", {}, label, select);
  }

  function slider(label, min, max, step, value, changed) {
    const said = make("span", {}, String(value));
    const input = make("input", { type: "range", min, max, step, value, "aria-label": label,
      oninput: () => { said.textContent = input.value; changed(Number(input.value)); } });
    return { element: make("label", {}, label, input, said),
      set(to) { input.value = to; said.textContent = input.value; changed(Number(input.value)); } };
  }

  function start(root) {
    const data = JSON.parse(root.querySelector("script[type='application/json']").textContent);
    const steps = data.chosen.length, { cividis, PuOr } = data.colours;
    const attention = Object.fromEntries(Object.entries(data.attention).map(
      ([kind, { name, weights, mask }]) => [kind, { name, mask, ...unpack(weights) }]));
    const streams = Object.fromEntries(Object.entries(data.streams).map(
      ([side, stations]) => [side, stations.map(([name, matrix]) => ({ name, ...unpack(matrix) }))]));
    const kinds = Object.keys(attention), layers = attention[kinds[0]].shape[0], heads = attention[kinds[0]].shape[1];
    const sides = Object.keys(streams).map(side => [side === "encoder" ? "source" : "target", side]);
    const state = { step: Math.ceil(steps / 2), shown: null, // in mid-sentence, where there is something to see
      kind: kinds[kinds.length - 1], layer: layers - 1, head: "all", temperature: 1,
      side: sides[sides.length - 1][1], token: 0, embedded: "encoder" };
    const pieces = side => data.tokens[side].map(([piece]) => piece);
    const visible = side => side === "encoder" ? data.tokens.encoder.length : state.step;

    // Step by step
    const caption = make("p", { "aria-live": "polite" });
    const stepper = slider("step", Math.min(1, steps), steps, 1, state.step, value => { state.step = value; draw(); });
    let timer = null;
    const play = make("button", { type: "button", onclick: () => {
      if (timer) return stop();
      if (state.step === steps) stepper.set(1);
      play.textContent = "stop";
      timer = setInterval(() => state.step < steps ? stepper.set(state.step + 1) : stop(), 900);
    } }, "play");
    function stop() { clearInterval(timer); timer = null; play.textContent = "play"; }
    const top = make("div", {}, caption, ...(steps ? [make("div", { class: "tc-row" }, stepper.element, play)] : []));
    function drawTop() {
      caption.textContent = steps
        ? `${data.sentence} → ${data.texts[state.step - 1] || "(nothing yet)"} | next: ${data.chosen[state.step - 1]}`
        : `${data.sentence} (the decoder is not written yet)`;
    }

    // Rows of numbers as strips of colour, each scaled by the largest number of all
    function strips(rows) {
      const most = Math.max(...rows.map(({ values }) => values.reduce((a, b) => Math.max(a, Math.abs(b)), 0))) || 1;
      const grid = make("div", { class: "strips" });
      for (const { name, values } of rows) {
        const canvas = make("canvas", { width: values.length, height: 1, role: "img",
          "aria-label": `${name}: ${values.length} numbers from ${Math.min(...values).toFixed(2)} to ` +
            `${Math.max(...values).toFixed(2)}` });
        const context = canvas.getContext("2d"), image = context.createImageData(values.length, 1);
        values.forEach((value, i) => image.data.set([...colour(PuOr, (value / most + 1) / 2), 255], 4 * i));
        context.putImageData(image, 0, 0);
        grid.append(make("span", {}, name), canvas);
      }
      grid.append(make("span", {}, ""), make("span", {},
        `columns: ${rows[0].values.length} features; from -${most.toFixed(2)} (brown) through 0 (white) to ` +
        `${most.toFixed(2)} (violet)`));
      return grid;
    }
    const rowOf = ({ shape, values }, row) => Array.from(values.slice(row * shape[1], (row + 1) * shape[1]));

    // Tokens, embeddings, positions
    const tokens = make("div");
    function drawTokens() {
      const line = (title, side, count, coming) => [make("p", {}, title), make("ol", { class: "chips" },
        ...data.tokens[side].slice(0, count).map(([piece, index]) => make("li", {}, piece, make("small", {}, index))),
        ...(coming ? [make("li", { class: "coming" }, coming)] : []))];
      const side = state.embedded, stations = streams[side];
      const rows = [];
      for (let token = 0; token < visible(side); token++) {
        const embedding = rowOf(stations[0], token), sum = rowOf(stations[1], token);
        const shown = { embedding, position: sum.map((value, i) => value - embedding[i]), sum }[state.part || "sum"];
        rows.push({ name: pieces(side)[token], values: shown });
      }
      tokens.replaceChildren(
        ...line("source, with the index of each token", "encoder", data.tokens.encoder.length),
        ...(steps ? line("target so far, and the token that comes next", "decoder", state.step,
          data.chosen[state.step - 1]) : []),
        strips(rows));
    }
    const tokenMenus = make("div", { class: "tc-row" },
      menu("side", sides, state.embedded, value => { state.embedded = value; drawTokens(); }),
      menu("show", [["embedding + position", "sum"], ["embedding", "embedding"], ["position", "position"]], "sum",
        value => { state.part = value; drawTokens(); }));

    // Attention
    const maps = make("div", { class: "maps" }), cell = make("output", { "aria-live": "polite" });
    function heatmap(kind, layer, head) {
      const { shape, values, mask } = attention[kind], [, H, Q, K] = shape;
      const names = { q: pieces(kind === "encoder" ? "encoder" : "decoder"),
        k: pieces(kind === "decoder" ? "decoder" : "encoder") };
      const queries = Math.min(Q, kind === "encoder" ? Q : state.step), keys = kind === "decoder" ? queries : K;
      const at = (q, k) => values[((layer * H + head) * Q + q) * K + k];
      const left = 9 + 6.2 * Math.max(...names.q.slice(0, queries).map(name => name.length));
      const above = 9 + 6.2 * Math.max(...names.k.slice(0, keys).map(name => name.length));
      const say = (q, k) => `layer ${layer}, head ${head}: ${names.q[q]} attends to ${names.k[k]} with weight ` +
        `${at(q, k).toFixed(3)}${mask[q][k] ? ", forbidden by the mask" : ""}`;
      let most = [0, 0];
      const cells = [];
      for (let q = 0; q < queries; q++) for (let k = 0; k < keys; k++) {
        if (at(q, k) > at(...most)) most = [q, k];
        const x = left + k * CELL, y = above + q * CELL, [r, g, b] = colour(cividis, at(q, k));
        cells.push(make("rect", { x, y, width: CELL, height: CELL, fill: `rgb(${r},${g},${b})`,
          onmousemove: () => move(q, k) }));
        if (mask[q][k]) cells.push(make("path", { d: `M${x} ${y + CELL}L${x + CELL} ${y}`, stroke: "#9a9a9a" }));
      }
      const cursor = make("rect", { width: CELL, height: CELL, fill: "none", stroke: "#e11d48", "stroke-width": 2,
        visibility: "hidden" });
      let place = [0, 0];
      function move(q, k) {
        place = [Math.min(Math.max(q, 0), queries - 1), Math.min(Math.max(k, 0), keys - 1)];
        cursor.setAttribute("x", left + place[1] * CELL);
        cursor.setAttribute("y", above + place[0] * CELL);
        cursor.setAttribute("visibility", "visible");
        cell.textContent = say(...place);
      }
      const arrows = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
      const drawing = make("svg", { width: left + keys * CELL + 2, height: above + queries * CELL + 2, role: "img",
        tabindex: 0, "aria-label": `${attention[kind].name}, ${queries} queries by ${keys} keys. Largest: ` +
          `${say(...most)}. The arrow keys move from cell to cell.`,
        onfocus: () => move(...place), onblur: () => cursor.setAttribute("visibility", "hidden"),
        onkeydown: event => {
          if (!(event.key in arrows)) return;
          event.preventDefault();
          event.stopPropagation(); // the notebook would go to another cell
          move(place[0] + arrows[event.key][0], place[1] + arrows[event.key][1]);
        } },
        ...names.q.slice(0, queries).map((name, q) => make("text",
          { x: left - 4, y: above + q * CELL + 11, "text-anchor": "end" }, name)),
        ...names.k.slice(0, keys).map((name, k) => make("text",
          { transform: `translate(${left + k * CELL + 11} ${above - 4}) rotate(-90)` }, name)),
        ...cells, cursor);
      return make("figure", {}, make("figcaption", {}, `head ${head}`), drawing);
    }
    function drawMaps() {
      const chosen = state.head === "all" ? Array.from({ length: heads }, (_, head) => head) : [Number(state.head)];
      maps.replaceChildren(...chosen.map(head => heatmap(state.kind, state.layer, head)));
    }
    const numbers = count => Array.from({ length: count }, (_, i) => [String(i), String(i)]);
    const mapMenus = make("div", { class: "tc-row" },
      menu("kind", kinds.map(kind => [attention[kind].name, kind]), state.kind,
        value => { state.kind = value; drawMaps(); }),
      menu("layer", numbers(layers), String(state.layer), value => { state.layer = Number(value); drawMaps(); }),
      menu("head", [["all", "all"], ...numbers(heads)], "all", value => { state.head = value; drawMaps(); }),
      make("span", {}, "rows: queries, columns: keys; dark: 0, bright: 1, hatched: forbidden by the mask"));

    // The residual stream of one token
    const stream = make("div"), streamMenus = make("div", { class: "tc-row" });
    function drawStream() {
      const count = visible(state.side);
      state.token = Math.min(state.token, count - 1);
      streamMenus.replaceChildren(
        menu("side", sides, state.side, value => { state.side = value; drawStream(); }),
        menu("token", pieces(state.side).slice(0, count).map((piece, i) => [`${i}: ${piece}`, String(i)]),
          String(state.token), value => { state.token = Number(value); drawStream(); }));
      stream.replaceChildren(strips(streams[state.side].map(
        station => ({ name: station.name, values: rowOf(station, state.token) }))));
    }

    // Scores and probabilities of the next token
    const scores = make("div");
    const temperature = slider("temperature", 0, data.temperatures.length - 1, 1, 9, value => {
      state.temperature = data.temperatures[value];
      drawScores();
    });
    temperature.element.lastChild.remove(); // the position in the list is not the temperature
    const degrees = make("span", {});
    function drawScores() {
      degrees.textContent = state.temperature.toFixed(1);
      const now = data.scores[state.step - 1], sum = now.sums[data.temperatures.indexOf(state.temperature)];
      const rows = now.scores.map((score, i) => {
        const part = Math.exp(score / state.temperature - sum);
        return make("tr", { class: i === 0 ? "chosen" : null },
          make("th", { scope: "row" }, now.pieces[i]),
          make("td", { class: "number" }, score.toFixed(2)), make("td", { class: "number" }, part.toFixed(3)),
          make("td", { class: "bar" }, make("i", { style: `width: ${(100 * part).toFixed(1)}%` })));
      });
      scores.replaceChildren(make("table", {},
        make("thead", {}, make("tr", {}, ...["token", "score", "probability", ""].map(
          name => name ? make("th", { scope: "col" }, name) : make("td")))),
        make("tbody", {}, ...rows)));
    }

    const sections = {
      tokens: ["Tokens and positions", [tokenMenus, tokens], drawTokens],
      attention: ["Attention", [mapMenus, maps, cell], drawMaps],
      stream: ["Residual stream", [streamMenus, stream], drawStream],
      scores: ["Next token",
        [make("div", { class: "tc-row" }, temperature.element, degrees), scores], drawScores],
    };
    const names = data.sections.filter(name => name !== "scores" || steps);
    state.shown = names.includes("attention") ? "attention" : names[0];
    const panels = Object.fromEntries(names.map(
      name => [name, make("div", { "data-section": name }, ...sections[name][1])]));
    const tabs = names.map(name => make("button", { type: "button", onclick: () => { state.shown = name; choose(); } },
      sections[name][0]));
    // One section at a time, so that the slider stays in sight of what it changes.
    function choose() {
      names.forEach((name, i) => {
        panels[name].hidden = name !== state.shown;
        tabs[i].setAttribute("aria-pressed", String(name === state.shown));
      });
    }
    function draw() { drawTop(); names.forEach(name => sections[name][2]()); }
    draw();
    choose();
    root.querySelector(".tc-still").replaceWith(
      top, ...(names.length > 1 ? [make("div", { class: "tc-row tc-tabs" }, ...tabs)] : []), ...Object.values(panels));
    root.dataset.live = "";
  }

  document.querySelectorAll(".tc-live:not([data-live])").forEach(start);
})();
