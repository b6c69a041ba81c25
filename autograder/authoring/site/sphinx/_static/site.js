// What scrolls to the side can be scrolled by the keyboard.
window.addEventListener("load", () => {
  for (const box of document.querySelectorAll(".bd-content pre, .bd-content table, .output.text_html, mjx-container"))
    if (box.scrollWidth > box.clientWidth) box.setAttribute("tabindex", "0");
});
