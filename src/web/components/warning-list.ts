// What staff should put right about the installation: on their home page in full, on their others in one line.

import { html } from "hono/html";
import type { Warning } from "../../domain/warning.ts";
import type { Html } from "../html.ts";

export function warningList(warnings: readonly Warning[], isOpen: boolean): Html | null {
	if (warnings.length === 0) return null;
	const count = warnings.length === 1 ? "1 warning" : `${warnings.length} warnings`;
	return html`<details class="message message-warn warnings" ${isOpen ? html`open` : null}><summary>${count} about this installation</summary><ul>${warnings.map(
		({ title, text }) => html`<li><strong>${title}.</strong> ${text}</li>`,
	)}</ul><p class="small soft">Only staff see this. Settings are in the environment of the service; a change takes a restart.</p></details>`;
}
