// The page on which staff download the data of a person and erase the person.

import type { Fault, Result } from "#core/domain/fault.ts";
import type { SignedInPerson } from "#core/people/actor.ts";
import { withPasswordAndCode } from "#core/people/authenticator.ts";
import { findPersonByPublicId, type Person } from "#core/store/queries/people.ts";
import { answerFile } from "#core/web/conversions/csv-answer.ts";
import { answerError } from "#core/web/error-page.ts";
import { declareForm, readUnticked } from "#core/web/form.ts";
import {
	actorOf,
	answerPage,
	leadTo,
	type PageDeps,
	tellRefusal,
	viewerOf,
	type WebContext,
} from "#core/web/page.ts";
import { PERSONAL_DATA_PATH, partnerDataPath, peoplePath, personDataPath } from "#core/web/paths.ts";
import { keyTable } from "#core/web/people/end-access-page.ts";
import { systemTabs } from "#core/web/system/system-page.ts";
import * as ui from "#core/web/ui.ts";
import { type Content, type Html, html } from "#core/web/ui.ts";
import { type Erasure, findErasure } from "../store/erasures.ts";
import { erasePerson, type PersonPreview, previewPerson } from "../use-cases/erase-person.ts";
import { exportPerson } from "../use-cases/export-person.ts";
import { stateCell } from "./erasures-page.ts";

export const ERASE_FORM = declareForm({
	currentPassword: {
		label: "Your password",
		hint: "The password with which you sign in.",
		type: "password",
		autocomplete: "current-password",
		isRequired: true,
	},
	code: {
		label: "Code",
		hint: "The six digits your authenticator shows now, or a backup code.",
		autocomplete: "one-time-code",
		isMono: true,
		isRequired: true,
	},
});

/** Returns the fields with which staff prove again who they are, because an erasure cannot be undone. */
export function proofFields(c: WebContext) {
	return ["currentPassword", ...(viewerOf(c).hasAuthenticator ? (["code"] as const) : [])] as const;
}

/**
 * Shows the refusal of an erasure at the field that caused it, or above the page. The code is not shown
 * again, because it may be used up.
 */
export function refuseErasure(
	c: WebContext,
	refused: { ok: false; fault: Fault },
	show: () => Promise<Response>,
): Promise<Response> {
	const hasField = refused.fault.field !== undefined;
	return hasField ? ERASE_FORM.refuse(c, refused, show, {}) : tellRefusal(c, refused, show);
}

/** Runs an erasure after the password and the code were checked. `erase` must act as the given actor. */
export async function eraseWithProof<Value>(
	c: WebContext,
	deps: PageDeps,
	erase: (actor: SignedInPerson) => Promise<Result<Value>>,
): Promise<Result<Value>> {
	const { currentPassword: password, code } = await ERASE_FORM.read(c);
	const owner = { ...actorOf(c), email: viewerOf(c).email };
	return withPasswordAndCode(deps, owner, { password, code }, c.get("visitor"), erase);
}

export async function showPersonData(c: WebContext, deps: PageDeps): Promise<Response> {
	const { db } = deps.store;
	const person = await findPersonByPublicId(db, c.req.param("personId") ?? "");
	if (person === undefined) return answerError(c, "not_found");
	const { public_id: id, email, name, erased_at_ms: erasedAtMs } = person;
	const title = erasedAtMs === null ? `Data of ${name === "" ? email : name}` : "Erased person";
	const erasure = await findErasure(db, id);
	const preview = erasedAtMs === null ? await previewPerson(db, person, deps.clock.nowMs()) : null;
	return answerPage(c, {
		title,
		active: "system",
		body: [
			ui.pageHeader({ title, hint: html`<span class="mono break">${id}</span>` }),
			systemTabs("personal data"),
			erasure === undefined ? null : erasedNote(erasure),
			exportSection(`${personDataPath(id)}/export`, "person"),
			preview === null ? null : eraseSection(c, person, preview),
		],
	});
}

/** Says when somebody was erased, and whether names may still be in other tables. */
export function erasedNote(erasure: Erasure): Html {
	return ui.card(
		ui.facts([
			["Erased", ui.timeTag(erasure.erased_at_ms)],
			["State", stateCell(erasure)],
		]),
	);
}

export function exportSection(action: string, who: "person" | "partner"): Html {
	return ui.section({
		id: "export",
		title: "Download",
		hint: `Everything that is stored about this ${who}, as a JSON file with explanations. Hand it over so that only the ${who} can read it.`,
		body: ui.padded(ui.buttonForm({ action, label: "Download the data" })),
	});
}

function eraseSection(c: WebContext, person: Person, preview: PersonPreview): Html {
	const { ending, judged } = preview;
	const isSelf = person.public_id === viewerOf(c).publicId;
	const whyNot = judged.ok ? null : judged.fault.detail;
	const reason = isSelf ? "You cannot erase your own account. Ask another member of the staff." : whyNot;
	return ui.section({
		id: "erase",
		title: "Erase",
		hint: "This cannot be undone.",
		body:
			reason === null
				? ERASE_FORM.show(c, {
						action: `${personDataPath(person.public_id)}/erase`,
						shown: proofFields(c),
						rows: ({ fields }) => [
							ui.padded(consequences(person, preview)),
							keyTable(ending.keys, true),
							ui.padded(
								html`<div class="form-grid">${fields()}</div>`,
								html`<div>${ui.button({ label: "Erase this person", tone: "danger" })}</div>`,
							),
						],
						send: html``,
					})
				: ui.padded(ui.message("warn", reason)),
	});
}

function consequences({ email }: Person, { roles, partners, ending }: PersonPreview): Html {
	const points: readonly Content[] = [
		html`<li>They can no longer sign in. Their sessions, links and API tokens end.</li>`,
		html`<li>The name and the addresses are removed from the account, from mails and notices, and from the audit log. Entries then name “erased person” and the ID.</li>`,
		roles.map(
			({ publicId, name, role }) =>
				html`<li>They are no longer ${role} of <a class="break" href="${peoplePath(publicId)}">${name}</a>.</li>`,
		),
		partners.map(({ publicId, name, isAlone }) =>
			isAlone
				? html`<li>Nobody signs in for the partner <a class="break" href="${partnerDataPath(publicId)}">${name}</a> any more. If the person is the partner, erase the partner instead.</li>`
				: html`<li>They no longer sign in for the partner <a class="break" href="${partnerDataPath(publicId)}">${name}</a>.</li>`,
		),
		html`<li>What they decided stays, without their name.</li>`,
		ending.keys.length === 0
			? null
			: html`<li>The API keys that stay ticked below are revoked. Keep a key only if the shop's server needs it.</li>`,
	];
	return html`<p class="break"><strong>${email}</strong></p><ul class="points">${points}</ul>`;
}

export async function downloadPersonData(c: WebContext, deps: PageDeps): Promise<Response> {
	return sendExport(c, deps, await exportPerson(deps, actorOf(c), c.req.param("personId") ?? ""));
}

/** Sends people their own data. */
export async function downloadOwnData(c: WebContext, deps: PageDeps): Promise<Response> {
	return sendExport(c, deps, await exportPerson(deps, actorOf(c), viewerOf(c).publicId));
}

/** Answers with an exported file. */
export async function sendExport(
	c: WebContext,
	deps: PageDeps,
	exported: Awaited<ReturnType<typeof exportPerson>>,
): Promise<Response> {
	if (!exported.ok) return answerError(c, "not_found");
	return answerFile(c, deps, { ...exported.value, type: "application/json" });
}

export async function erasePersonData(c: WebContext, deps: PageDeps): Promise<Response> {
	const id = c.req.param("personId") ?? "";
	const kept = await readUnticked(c);
	const erased = await eraseWithProof(c, deps, (actor) => erasePerson(deps, actor, id, kept));
	if (!erased.ok) return refuseErasure(c, erased, () => showPersonData(c, deps));
	return leadTo(c, PERSONAL_DATA_PATH, `The person ${id} is erased. Lists and logs follow within a minute.`);
}
