// A partner's page, for staff: its programmes with what it brings and earns there, and who signs in for it.

import type { Result } from "../../domain/fault.ts";
import * as partners from "../../partners/partners.ts";
import { sayWhatEnded } from "../../people/end-access.ts";
import type { SentLink } from "../../people/invitations.ts";
import { findPartner, listPartnerships, type Partner } from "../../store/queries/partners.ts";
import { findPersonByPublicId, type ListedPerson, listPartnerPeople } from "../../store/queries/people.ts";
import { listProgrammes } from "../../store/queries/programme-list.ts";
import { findProgramme } from "../../store/queries/programmes.ts";
import { answerError } from "../error-page.ts";
import { declareForm } from "../form.ts";
import { answerPage, leadTo, makerOf, type PageDeps, tellRefusal, type WebContext } from "../page.ts";
import * as paths from "../paths.ts";
import { invitationCard, personState } from "../people/people-page.ts";
import type { Answer } from "../routes.ts";
import * as ui from "../ui.ts";
import { type Html, html } from "../ui.ts";
import { askFirst } from "./ask-first.ts";
import { earnedSection, partnershipTable, stateOf } from "./earned-section.ts";
import { MATCHES_NAMED, pickNamed } from "./pick-named.ts";

const ADD_FORM = declareForm({ programme: { label: "Programme's name or ID", isRequired: true } });
const INVITE_FORM = declareForm({
	email: {
		label: "Email of a person to invite",
		type: "email",
		autocomplete: "off",
		isRequired: true,
		hint: "A person who was invited and has not joined yet gets a new link.",
	},
});

/** For the partner in the address. */
function about(verb: (c: WebContext, deps: PageDeps, partner: Partner) => Promise<Response>): Answer {
	return async (c, deps) => {
		const partner = await findPartner(deps.store.db, c.req.param("partnerId") ?? "");
		return partner === undefined ? answerError(c, "not_found") : verb(c, deps, partner);
	};
}

export const showPartner = about((c, deps, partner) => renderPartner(c, deps, partner));

export const addProgramme = about(async (c, deps, partner) => {
	const search = (await ADD_FORM.read(c)).programme.trim();
	const { rows } = await listProgrammes(deps.store.db, { search, limit: MATCHES_NAMED });
	const chosen = pickNamed(rows, search, "programme");
	const refuse = (refused: Result<unknown> & { ok: false }) =>
		ADD_FORM.refuse(c, refused, () => renderPartner(c, deps, partner));
	if (!chosen.ok) return refuse(chosen);
	const programme = await findProgramme(deps.store.db, chosen.value.publicId);
	if (programme === undefined) return answerError(c, "not_found");
	const added = await partners.addPartnership(deps, makerOf(c), programme, partner.public_id);
	if (!added.ok) return refuse(added);
	const path = paths.programmePartnerPath(programme.public_id, added.value.public_id);
	const next = "Enter an own rate and coupon codes below, if there are any.";
	return leadTo(c, path, `${partner.name} is now a partner of ${programme.name}. ${next}`);
});

export const askToEndPartner = about((c, _, { public_id: id, name }) =>
	askFirst(c, {
		active: "partners",
		title: `End ${name}?`,
		points: [
			"All partnerships end: links lead to the shops without a click ID, and coupon codes credit nobody.",
			"The partner keeps all that was earned. Sales from clicks made before still count, within each programme's days.",
			"The partner's people can still sign in to see what they earned, but make no new links. Remove them to end that, too.",
			"To work with them again, invite them as a new partner.",
		],
		label: `End ${name}`,
		cancelHref: paths.partnerPath(id),
	}),
);

export const endPartner = about(async (c, deps, partner) => {
	const ended = await partners.endPartner(deps, makerOf(c), partner);
	if (!ended.ok) return tellRefusal(c, ended, () => renderPartner(c, deps, partner));
	return leadTo(c, paths.partnerPath(partner.public_id), `${partner.name} has ended.`);
});

export const invitePerson = about(async (c, deps, partner) => {
	const { email } = await INVITE_FORM.read(c);
	const invited = await partners.inviteToPartner(deps, makerOf(c), partner, email);
	if (!invited.ok) return INVITE_FORM.refuse(c, invited, () => renderPartner(c, deps, partner));
	return renderPartner(c, deps, partner, invited.value);
});

export const askToRemove = about(async (c, { store }, { public_id: id, name }) => {
	const person = await findPersonByPublicId(store.db, c.req.param("personId") ?? "");
	if (person === undefined) return answerError(c, "not_found");
	return askFirst(c, {
		active: "partners",
		title: `Remove ${person.email}?`,
		points: [
			`They no longer sign in for ${name}, and are signed out everywhere.`,
			"Invitations and other links of theirs that are not used yet stop working.",
			"The partner's links and earnings stay as they are.",
		],
		label: "Remove",
		cancelHref: paths.partnerPath(id),
	});
});

export const removePerson = about(async (c, deps, partner) => {
	const personId = c.req.param("personId") ?? "";
	const removed = await partners.removePersonOf(deps, makerOf(c), partner, personId);
	if (!removed.ok) return tellRefusal(c, removed, () => renderPartner(c, deps, partner));
	const said = sayWhatEnded(removed.value.ended);
	const text = `${removed.value.email} no longer signs in for ${partner.name}${said === null ? "" : `: ${said}`}.`;
	return leadTo(c, paths.partnerPath(partner.public_id), text);
});

/** `invited`: the link is in the answer itself, shown this once. */
async function renderPartner(
	c: WebContext,
	deps: PageDeps,
	partner: Partner,
	invited?: SentLink,
): Promise<Response> {
	const { db } = deps.store;
	const { public_id: id, name, site, ended_at_ms: endedAtMs } = partner;
	const path = paths.partnerPath(id);
	const rows = await listPartnerships(db, "partner_id", [partner.id]);
	return answerPage(c, {
		title: name,
		active: "partners",
		body: [
			ui.pageHeader({
				title: name,
				hint: html`${stateOf(partner)}${site === "" ? null : html` · <span class="break">${site}</span>`}`,
				actions:
					endedAtMs === null
						? ui.linkButton({ label: "End partner", tone: "danger", href: `${path}/end` })
						: null,
			}),
			invited === undefined ? null : invitationCard(invited, name),
			await earnedSection(c, deps, {
				id: "programmes",
				title: "Programmes",
				path,
				show: (asked) => partnershipTable(deps, rows, asked, { title: "Programme", empty: NO_PROGRAMME }),
			}),
			endedAtMs === null
				? ui.section({
						id: "add",
						title: "Add a programme",
						body: ui.padded(ADD_FORM.show(c, { action: `${path}/partnerships`, send: "Add" })),
					})
				: null,
			ui.section({
				id: "people",
				title: "People",
				hint: "Who signs in for this partner.",
				body: [
					peopleTable(path, await listPartnerPeople(db, partner.id, deps.clock.nowMs())),
					ui.padded(INVITE_FORM.show(c, { action: `${path}/people`, send: "Invite" })),
				],
			}),
		],
	});
}

const NO_PROGRAMME = "Add the first programme below. Then the partner can make links to its shop.";

function peopleTable(path: string, people: readonly ListedPerson[]): Html {
	return ui.dataTable<ListedPerson>({
		caption: "People of this partner",
		rows: people,
		stacks: true,
		empty: html`<p class="card-body soft">Nobody signs in for this partner. Invite somebody below.</p>`,
		columns: [
			{
				title: "Person",
				namesRow: true,
				cell: ({ email, name }) => html`${ui.emailText(email)}<span class="secondary">${name}</span>`,
			},
			{ title: "State", cell: personState },
			{
				title: "Actions",
				isTitleHidden: true,
				cell: ({ publicId, email }) => {
					const remove = {
						label: "Remove",
						ariaLabel: `Remove ${email}`,
						tone: "danger",
						isSmall: true,
					} as const;
					return html`<div class="row row-end">${ui.linkButton({ ...remove, href: `${path}/people/${publicId}/remove` })}</div>`;
				},
			},
		],
	});
}
