// What scrolls to the side can be scrolled by the keyboard, what unfolds in the sidebar has a name,
// and the menu of colours keeps the focus, which the theme takes from every button, so that the arrow keys work in it.
window.addEventListener("load", () => {
  for (const box of document.querySelectorAll(".bd-content pre, .output.text_html, mjx-container, .bd-article p:has(> img)"))
    if (box.scrollWidth > box.clientWidth) box.setAttribute("tabindex", "0");
  for (const fold of document.querySelectorAll(".bd-sidebar-primary summary"))
    fold.setAttribute("aria-label", `Pages of ${fold.closest("li").querySelector("a").textContent.trim()}`);
  for (const button of document.querySelectorAll(".theme-switch-button"))
    button.addEventListener("click", () => setTimeout(() => button.focus()));
});
