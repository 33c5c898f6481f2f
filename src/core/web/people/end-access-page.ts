// Asks for confirmation before a person's access ends. The page lists what ends, and the API keys that the person
// issued. All keys are ticked and end as well. A key should be unticked only if the shop's systems still need it and
// the person has no copy.

import { showKey } from "../../domain/action.ts";
import { showToken } from "../../domain/api-token.ts";
import { type EndingPreview, previewEnding } from "../../people/end-access.ts";
import type { IssuedApiKey } from "../../store/queries/keys.ts";
import { findPersonByPublicId } from "../../store/queries/people.ts";
import { findRole } from "../../store/queries/programme-people.ts";
import { answerError } from "../error-page.ts";
import type { WebContext, WebDeps } from "../page.ts";
import * as page from "../page.ts";
import { peoplePath, STAFF_PATH } from "../paths.ts";
import * as ui from "../ui.ts";
import { type Content, type Html, html } from "../ui.ts";

/**
 * Shows the confirmation page. Its form is sent to the same address, which ends with `remove`, `leave` or
 * `deactivate`.
 */
export async function askToEnd(c: WebContext, deps: WebDeps): Promise<Response> {
	const programme = c.get("programme") ?? null;
	const isLeaving = c.req.path.endsWith("/leave");
	const personId = isLeaving ? page.viewerOf(c).publicId : (c.req.param("personId") ?? "");
	const { db } = deps.store;
	const person = await findPersonByPublicId(db, personId);
	if (person === undefined) return answerError(c, "not_found");
	const isStaff = programme === null && person.kind === "staff";
	const isHere = programme !== null && (await findRole(db, programme.id, person.id)) !== undefined;
	if (!isStaff && !isHere) {
		// Staff see every programme but belong to none, so they cannot leave one.
		if (!isLeaving || programme === null) return answerError(c, "not_found");
		return page.leadTo(c, peoplePath(programme.public_id), "You are not in this programme.", "info");
	}
	const preview = await previewEnding(db, person.id, programme?.id ?? null, deps.clock.nowMs());
	const who = person.name === "" ? person.email : person.name;
	const verb = programme === null ? "Deactivate" : "Remove";
	const label = isLeaving ? `Leave ${programme?.name}` : `${verb} ${who}`;
	return page.answerPage(c, {
		title: `${label}?`,
		active: programme === null ? "staff" : "people",
		body: html`${ui.pageHeader({
			title: `${label}?`,
			hint: isLeaving
				? "You lose access at once. To come back, you need a new invitation."
				: `${person.email} loses access at once. To come back, they need a new invitation.`,
		})}${ui.section({
			id: "ends",
			title: "What ends",
			body: ui.postForm({
				action: c.req.path,
				body: [
					ui.padded(listEndings(preview)),
					keyTable(preview.keys, programme === null),
					ui.padded(
						html`<div class="row">${ui.button({ label: isLeaving ? "Leave" : verb, tone: "danger" })}${ui.linkButton(
							{
								label: "Cancel",
								tone: "quiet",
								href: programme === null ? STAFF_PATH : peoplePath(programme.public_id),
							},
						)}</div>`,
					),
				],
			}),
		})}`,
	});
}

function listEndings({ sessions, links, secrets, keys, tokens }: EndingPreview): Html {
	const points: readonly Content[] = [
		html`<li>${ui.countOf(sessions, "session")} ${sessions === 1 ? "ends" : "end"}: every browser is signed out.</li>`,
		links === 0
			? null
			: html`<li>${ui.countOf(links, "link")} ${links === 1 ? "stops" : "stop"} working.</li>`,
		secrets.map(
			({ hint }) => html`<li>The prepared signing secret <code>rbs_…${hint}</code> is discarded.</li>`,
		),
		tokens.map(
			(token) =>
				html`<li>The API token <span class="break">${token.name}</span> <code>${showToken(token)}</code> is revoked: calls with it are refused from then on.</li>`,
		),
		html`<li>Decisions and imports that are still running stop.</li>`,
		keys.length === 0
			? null
			: html`<li>The API keys that stay ticked below are revoked: requests with them are refused from then on. Keep a key only if your systems need it and nobody else has a copy.</li>`,
	];
	return html`<ul class="points">${points}</ul>`;
}

/** Shows the API keys of a person, with a box for each key that is to be revoked. */
export function keyTable(keys: readonly IssuedApiKey[], namesProgramme: boolean): Html | null {
	if (keys.length === 0) return null;
	return ui.dataTable<IssuedApiKey>({
		caption: "API keys issued by this person",
		rows: keys,
		empty: null,
		stacks: true,
		columns: [
			{
				title: "End",
				// On a phone the box stands before the key, where there is no room for a title.
				isTitleHidden: true,
				cell: ({ public_id: id, name }) =>
					html`<input type="hidden" name="listed" value="${id}"><input type="checkbox" name="end" value="${id}" checked aria-label="End the key ${name}">`,
			},
			{
				title: "Key",
				namesRow: true,
				cell: ({ name, hint, programmeName }) =>
					html`<span class="break">${name}</span> <code>${showKey(hint)}</code>${
						namesProgramme ? html`<span class="secondary">${programmeName}</span>` : null
					}`,
			},
			{
				title: "Last used",
				cell: ({ last_used_at_ms: atMs }) =>
					atMs === null ? html`<span class="faint">never</span>` : ui.timeTag(atMs),
			},
		],
	});
}
