// Shows the page /programmes/keys, on which staff issue API keys for many programmes at once. The keys are in a file
// that is downloaded once, because only their hashes are stored.

import { csvFile } from "../../conversions/csv-file.ts";
import { dayIn } from "../../domain/zone-day.ts";
import { issueManyKeys, KEY_FILE_COLUMNS, MAX_MANY_KEYS } from "../../programmes/many-keys.ts";
import { findListedProgrammes } from "../../programmes/named-programmes.ts";
import { listKeylessProgrammes } from "../../store/queries/programmes.ts";
import { csvFormFor } from "../conversions/csv-answer.ts";
import { declareForm } from "../form.ts";
import { actorOf, answerPage, leadTo, type WebContext, type WebDeps } from "../page.ts";
import { MANY_KEYS_PATH, PROGRAMMES_PATH } from "../paths.ts";
import * as ui from "../ui.ts";
import { html } from "../ui.ts";

const FORM = declareForm({
	programmes: {
		label: "Programmes (optional)",
		rows: 6,
		isMono: true,
		hint: "One on each line, by name or ID. Leave it empty for all programmes without a key.",
	},
});

export async function showManyKeys(c: WebContext, deps: WebDeps): Promise<Response> {
	const keyless = (await listKeylessProgrammes(deps.store.db, MAX_MANY_KEYS + 1)).length;
	const count = ui.countUpTo(keyless, MAX_MANY_KEYS + 1);
	return answerPage(c, {
		title: "API keys",
		active: "programmes",
		body: html`${ui.pageHeader({
			title: "API keys",
			hint: "Issue API keys for many programmes at once, for example after an import.",
			actions: ui.linkButton({ label: "Back to Programmes", href: PROGRAMMES_PATH }),
		})}${ui.section({
			id: "keys",
			title: "Issue keys",
			hint:
				keyless === 0
					? "Every programme has a key."
					: `${count} ${keyless === 1 ? "programme has" : "programmes have"} no key.`,
			body: ui.padded(
				html`<p>You download a CSV file with the key and the signing secret of each programme. Both are shown only once, so keep the file safe, and give each shop its line. The keys report sales and reversals. Owners get the usual mail about a new key.</p>`,
				FORM.show(c, { action: MANY_KEYS_PATH, send: "Issue keys and download the file" }),
				html`<p class="small soft">A programme that has a key gets no other one here. At most ${ui.count(MAX_MANY_KEYS)} keys are issued at once. For more, repeat it, or run <code>ringback key issue-many</code> on the server.</p>`,
			),
		})}`,
	});
}

export async function issueKeys(c: WebContext, deps: WebDeps): Promise<Response> {
	const { programmes: text } = await FORM.read(c);
	const show = () => showManyKeys(c, deps);
	const listed = text.trim() === "" ? null : await findListedProgrammes(deps.store.db, text, MAX_MANY_KEYS);
	if (listed?.ok === false) return FORM.refuse(c, listed, show);
	const programmeIds = listed === null ? null : listed.value.map(({ id }) => id);
	const done = await issueManyKeys(deps, actorOf(c), { programmeIds, right: "report" });
	if (!done.ok) return FORM.refuse(c, done, show);
	const { issued } = done.value;
	if (issued.length === 0) {
		const text = listed === null ? "Every programme has a key." : "Each of these programmes has a key.";
		return leadTo(c, MANY_KEYS_PATH, `${text} Nothing was issued.`, "info");
	}
	async function* inOneBatch() {
		yield issued;
	}
	const file = await Array.fromAsync(csvFile(KEY_FILE_COLUMNS, inOneBatch(), csvFormFor(c)));
	const day = dayIn(deps.clock.nowMs(), c.get("network").timeZone);
	// The file is sent as a whole and not as a stream, because nobody can download it again.
	return c.body(file.join(""), 200, {
		"content-type": "text/csv; charset=utf-8",
		"content-disposition": `attachment; filename="api-keys-${day}.csv"`,
		"cache-control": "no-store",
	});
}
