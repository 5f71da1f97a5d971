// Who asks: the key that is shown to the server, kept for as long as this tab is open.

import { key } from "./api.js";
import { h } from "./dom.js";

let dialog = null;

/** Ask for a key; `changed` is called when there is a new one, or none any more. `refused` says why the last was no good. */
export function askForKey(changed, refused = "") {
  if (dialog) return;
  const field = h("input", { id: "key-field", type: "password", autocomplete: "off", required: true, placeholder: "rk_…", value: key.get(), oninput: () => field.setCustomValidity("") });
  const use = (value) => {
    key.set(value);
    dialog.close();
    changed();
  };
  dialog = h(
    "dialog",
    {
      "aria-labelledby": "key-title",
      onclose: () => {
        dialog.remove();
        dialog = null;
      },
    },
    h(
      "form",
      {
        method: "dialog",
        onsubmit: (event) => {
          event.preventDefault();
          const given = field.value.trim();
          if (/^[\x21-\x7e]+$/.test(given)) return use(given);
          field.setCustomValidity("This is not a key: they begin with rk_ and have no spaces.");
          field.reportValidity();
        },
      },
      h("h2", { id: "key-title" }, "Which key?"),
      refused ? h("p", { class: "refused", role: "alert" }, refused) : null,
      h("p", {}, h("label", { for: "key-field" }, "A key of this server"), field),
      h("p", { class: "quiet" }, "It stays in this tab. Who runs the server makes one: ", h("code", {}, "recollect keys add NAME")),
      h(
        "p",
        { class: "actions" },
        h("button", { type: "submit", class: "primary" }, "Use it"),
        key.get() ? h("button", { type: "button", onclick: () => use("") }, "Forget it") : null,
        h("button", { type: "button", onclick: () => dialog.close() }, "Cancel"),
      ),
    ),
  );
  document.body.append(dialog);
  dialog.showModal();
}
