// The choice of versions. Pages of a version lie in a folder of the site, whose `versions.json` has
// one entry a version: {"version": "0.1.0", "name": "0.1.0 (latest)", "url": "0.1.0/"}. Addresses are
// relative to that file. Without the file, as in a build that is looked at from the disk, the list
// has the version of the page alone.
document.addEventListener("DOMContentLoaded", async () => {
  const select = document.getElementById("sidebar-version");
  if (!select || location.protocol === "file:") return;
  const root = new URL(document.documentElement.dataset.content_root, location.href);
  const list = new URL("../versions.json", root);
  const answer = await fetch(list);
  if (!answer.ok) return;
  const entries = await answer.json();
  if (!entries.some((entry) => entry.version === select.dataset.version)) return;
  select.replaceChildren(
    ...entries.map(({ version, name, url }) => {
      const option = new Option(name ?? version, new URL(url, list).href);
      option.selected = version === select.dataset.version;
      return option;
    }),
  );
  select.addEventListener("change", async () => {
    // The same page, if that version has it, else its first page.
    const page = new URL(select.dataset.page, select.value);
    const found = await fetch(page, { method: "HEAD" });
    location.href = found.ok ? page.href : select.value;
  });
});
