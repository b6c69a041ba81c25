// The timed page: a clock, and the answers as a CSV file. Nothing is sent anywhere, and no key is in the page.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const at = id => document.getElementById(id);
  let left = Number(at("clock").dataset.seconds), timer = null;

  function show() {
    const minutes = Math.floor(left / 60), seconds = String(left % 60).padStart(2, "0");
    at("clock").textContent = `${minutes}:${seconds} left`;
  }
  function end() {
    clearInterval(timer);
    for (const input of document.querySelectorAll("#form input")) input.disabled = true;
    at("clock").textContent = "Time is up. Save your answers.";
  }
  at("begin").addEventListener("click", () => {
    at("form").hidden = false;
    at("begin").hidden = true;
    show();
    timer = setInterval(() => { left -= 1; show(); if (left <= 0) end(); }, 1000);
  });
  at("save").addEventListener("click", () => {
    const cell = text => `"${/^[=+@\-\t]/.test(text) ? "'" + text : text}"`.replace(/(?!^)"(?!$)/g, '""');
    const lines = ["student,question,answer"];
    for (let number = 1; number <= data.count; number += 1) {
      const chosen = document.querySelector(`input[name=q${number}]:checked`);
      lines.push(`${cell(data.student)},${number},${chosen ? chosen.value : ""}`);
    }
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([lines.join("\r\n") + "\r\n"], { type: "text/csv" }));
    link.download = `answers-${data.stage}.csv`;
    link.click();
    at("saved").textContent = "Saved: hand in the file.";
  });
})();
