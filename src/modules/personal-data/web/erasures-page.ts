// The page /system/personal-data, for staff. It leads to the data of a person, and lists everybody who was erased.

import { foldMailAddress } from "#core/domain/display-name.ts";
import { isPartnerId } from "#core/domain/id.ts";
import { findPartner } from "#core/store/queries/partners.ts";
import { findPersonByEmail, findPersonByPublicId } from "#core/store/queries/people.ts";
import { ask } from "#core/web/ask.ts";
import { readRows, showList } from "#core/web/list.ts";
import { answerPage, type PageDeps, type WebContext } from "#core/web/page.ts";
import {
	operationsPath,
	PARTNERS_PATH,
	PERSONAL_DATA_PATH,
	partnerDataPath,
	personDataPath,
} from "#core/web/paths.ts";
import { systemTabs } from "#core/web/system/system-page.ts";
import * as ui from "#core/web/ui.ts";
import { type Content, type Html, html } from "#core/web/ui.ts";
import { type Erasure, listErasures } from "../store/erasures.ts";

export async function showErasures(c: WebContext, deps: PageDeps): Promise<Response> {
	const search = (c.req.query("who") ?? "").trim();
	const found = search === "" ? null : await findPath(deps, search);
	if (found !== null) return c.redirect(found, 303);
	const asked = ask(c, { path: PERSONAL_DATA_PATH });
	const page = await readRows(deps, asked, "erasures", (at) => listErasures(deps.store.db, at));
	const list = showList<Erasure>({
		asked,
		page,
		noun: "erasure",
		caption: "Erased people and partners, the newest first",
		columns: [
			{ title: "ID", namesRow: true, cell: idCell },
			{ title: "Kind", cell: ({ kind }) => (kind === "person" ? "Person" : "Partner") },
			{ title: "Erased", cell: ({ erased_at_ms }) => ui.timeTag(erased_at_ms) },
			{ title: "State", cell: stateCell },
		],
		none: { title: "Nobody was erased yet", text: "Erased people and partners are listed here." },
	});
	return answerPage(c, {
		title: "Personal data",
		active: "system",
		status: search === "" ? 200 : 404,
		body: [
			ui.pageHeader({
				title: "Personal data",
				hint: "For people who ask what you store about them, or who ask to be erased.",
				actions: ui.linkButton({ label: "How it works", href: operationsPath("personal-data") }),
			}),
			systemTabs("personal data"),
			searchSection(search),
			ui.section({
				id: "erasures",
				title: "Erased",
				hint: "Keep these IDs outside of the database. After a restore of an older backup, erase them again.",
				body: list,
			}),
		],
	});
}

/** Returns the address of the page about a person or partner, or null if there is none. */
async function findPath({ store: { db } }: PageDeps, search: string): Promise<string | null> {
	if (isPartnerId(search)) {
		return (await findPartner(db, search)) === undefined ? null : partnerDataPath(search);
	}
	const person = search.includes("@")
		? await findPersonByEmail(db, foldMailAddress(search))
		: await findPersonByPublicId(db, search);
	return person === undefined ? null : personDataPath(person.public_id);
}

function searchSection(search: string): Html {
	const missing =
		search === ""
			? null
			: ui.message(
					"warn",
					html`Nobody here has <span class="break">${search}</span>. Check the spelling. An address without an account may still be in invitations, applications and the audit log. <code>ringback person erase</code> removes it there.`,
				);
	return ui.section({
		id: "find",
		title: "Find somebody",
		hint: html`For a partner, open its page under <a href="${PARTNERS_PATH}">Partners</a>, or enter its ID.`,
		body: ui.padded(
			missing,
			html`<form method="get" action="${PERSONAL_DATA_PATH}" class="stack"><div class="form-grid">${ui.textField(
				{
					name: "who",
					label: "Email or ID",
					type: "search",
					value: search,
					isRequired: true,
				},
			)}</div><div>${ui.button({ label: "Find", tone: "primary" })}</div></form>`,
		),
	});
}

function idCell({ kind, public_id: id }: Erasure): Html {
	const path = kind === "person" ? personDataPath(id) : partnerDataPath(id);
	return html`<a class="mono break" href="${path}">${id}</a>`;
}

/** Shows whether names may still be in other tables. */
export function stateCell({ finished_at_ms: finishedAtMs, round, due_at_ms: dueAtMs }: Erasure): Content {
	if (finishedAtMs !== null) return ui.badge("good", "Finished");
	const next =
		round === 1
			? "names are being removed from lists and logs"
			: html`names are removed from lists and logs; the last search for them begins after ${ui.timeTag(dueAtMs ?? 0)}`;
	return html`${ui.badge("info", "In progress")} <span class="secondary">${next}</span>`;
}
