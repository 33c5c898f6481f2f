// Shows the people of a programme (/programmes/:id/people), of a partner (/partner/:id/people), or the staff
// (/people). The page lists who has joined and who has an open invitation, and has a form to invite others. Owners and
// staff invite people, change roles and remove people. Everybody else in a programme only sees the list. All people of
// a partner have the same rights. modules/partners/web/people-page.ts handles the forms of a partner's page.

import { PROGRAMME_ROLES, type ProgrammeRole, ROLE_SUMMARIES } from "../../domain/roles.ts";
import { type EndedAccess, sayWhatEnded } from "../../people/end-access.ts";
import { inviteStaff, type SentLink, sayOpensOnlyHere } from "../../people/invitations.ts";
import {
	changeRole,
	deactivateStaff,
	inviteToProgramme,
	leaveProgramme,
	removePerson,
	renewProgrammeLink,
	renewStaffLink,
} from "../../people/programme-people.ts";
import {
	type ListedPerson,
	listPartnerPeople,
	listProgrammePeople,
	listStaff,
} from "../../store/queries/people.ts";
import type { Programme } from "../../store/queries/programmes.ts";
import {
	listPartnerInvitations,
	listProgrammeInvitations,
	type PartnerInvitation,
} from "../../store/queries/sign-in-links.ts";
import type { Partner } from "../../store/tables/partners.ts";
import { declareForm, readTextFields, readUnticked } from "../form.ts";
import type { WebContext, WebDeps } from "../page.ts";
import * as page from "../page.ts";
import { partnerPeoplePath, peoplePath, personDataPath, SIGN_IN_PATH, STAFF_PATH } from "../paths.ts";
import * as ui from "../ui.ts";
import { type Content, type Html, html } from "../ui.ts";

const ROLE_WORDS: Readonly<Record<ProgrammeRole, string>> = {
	owner: "Owner",
	developer: "Developer",
	viewer: "Viewer",
};

export const INVITE_FORM = declareForm({
	email: { label: "Email", type: "email", autocomplete: "off", isRequired: true },
	role: {
		label: "Role",
		isRequired: true,
		options: [
			{ value: "", label: "Choose a role" },
			...PROGRAMME_ROLES.map((value) => ({
				value,
				label: `${ROLE_WORDS[value]}: ${ROLE_SUMMARIES[value]}`,
			})),
		],
	},
});

/** Returns the programme or partner whose people the page lists. Both are undefined on the page of staff. */
function groupHere(c: WebContext): { programme: Programme | undefined; partner: Partner | undefined } {
	return { programme: c.get("programme"), partner: c.get("partner") };
}

function pathHere(c: WebContext): string {
	const { programme, partner } = groupHere(c);
	if (partner !== undefined) return partnerPeoplePath(partner.public_id);
	return programme === undefined ? STAFF_PATH : peoplePath(programme.public_id);
}

export async function invite(c: WebContext, deps: WebDeps): Promise<Response> {
	const typed = await INVITE_FORM.read(c);
	const { programme } = groupHere(c);
	const [actor, email] = [page.actorOf(c), typed.email.trim()];
	const invited = await (programme === undefined
		? inviteStaff(deps, actor, email)
		: inviteToProgramme(deps, actor, programme, { email, role: typed.role }));
	if (!invited.ok) return INVITE_FORM.refuse(c, invited, () => showPeople(c, deps));
	return showPeople(c, deps, invited.value);
}

export async function renewLink(c: WebContext, deps: WebDeps): Promise<Response> {
	const { programme } = groupHere(c);
	const [actor, personId] = [page.actorOf(c), personIdOf(c)];
	const renewed = await (programme === undefined
		? renewStaffLink(deps, actor, personId)
		: renewProgrammeLink(deps, actor, programme, personId));
	if (!renewed.ok) return page.tellRefusal(c, renewed, () => showPeople(c, deps));
	return showPeople(c, deps, renewed.value);
}

export async function changeRoleOf(c: WebContext, deps: WebDeps): Promise<Response> {
	const { role } = await readTextFields(c, ["role"]);
	const changed = await changeRole(deps, page.actorOf(c), page.programmeOf(c), personIdOf(c), role);
	if (!changed.ok) return page.tellRefusal(c, changed, () => showPeople(c, deps));
	const { email, name, before, after, ended } = changed.value;
	const who = name === "" ? email : name;
	if (before === after) {
		return page.leadTo(c, pathHere(c), `${who} is ${after} already. Nothing was changed.`, "info");
	}
	return page.leadTo(c, pathHere(c), `Saved. ${who} is now ${after} (was ${before}).${sayAlso(ended)}`);
}

export async function removeFromProgramme(c: WebContext, deps: WebDeps): Promise<Response> {
	const programme = page.programmeOf(c);
	const keptKeys = await readUnticked(c);
	const removed = await removePerson(deps, page.actorOf(c), programme, personIdOf(c), keptKeys);
	if (!removed.ok) return page.tellRefusal(c, removed, () => showPeople(c, deps));
	return page.leadTo(c, pathHere(c), sayRemoved(removed.value, removed.value.ended));
}

/**
 * Removes the viewer from the programme. Like everybody whose access ends, they are signed out everywhere.
 */
export async function leave(c: WebContext, deps: WebDeps): Promise<Response> {
	const programme = page.programmeOf(c);
	const left = await leaveProgramme(deps, page.actorOf(c), programme, await readUnticked(c));
	if (!left.ok) return page.tellRefusal(c, left, () => showPeople(c, deps));
	return page.leadTo(c, SIGN_IN_PATH, `You left ${programme.name}.${sayAlso(left.value.ended)}`);
}

/** Ends the access of a member of staff. */
export async function deactivatePerson(c: WebContext, deps: WebDeps): Promise<Response> {
	const removed = await deactivateStaff(deps, page.actorOf(c), personIdOf(c), await readUnticked(c));
	if (!removed.ok) return page.tellRefusal(c, removed, () => showPeople(c, deps));
	return page.leadTo(c, pathHere(c), sayRemoved(removed.value.person, removed.value.ended));
}

/** Returns the message after a removal. `ended` is null if only an invitation was withdrawn. */
export function sayRemoved(person: { email: string; name: string }, ended: EndedAccess | null): string {
	return ended === null ? `The invitation to ${person.email} was withdrawn.` : sayEnded(person, ended);
}

export function personIdOf(c: WebContext): string {
	return c.req.param("personId") ?? "";
}

function sayAlso(ended: EndedAccess | null): string {
	const text = ended === null ? null : sayWhatEnded(ended);
	return text === null ? "" : ` ${text}.`;
}

function sayEnded({ email, name }: { email: string; name: string }, ended: EndedAccess): string {
	const text = sayWhatEnded(ended);
	return `${name === "" ? email : name}'s access ended${text === null ? "" : `: ${text}`}.`;
}

/** Returns the form's hint on how the invited person gets the link. The page shows the link itself only to staff. */
export function sayInvitation(isStaff: boolean, canMail: boolean): string {
	if (!isStaff) {
		return canMail
			? "They get a link by mail and have access once they accept."
			: "This service cannot send mail. Once you have invited them, ask the network's staff to hand the link over.";
	}
	return canMail
		? "They get a link to choose a password. You can copy it, too."
		: "You get a link to hand over, with which they choose a password.";
}

/**
 * Returns the row of an open invitation. Until the invitation is accepted, its row looks the same whether or
 * not the address has an account. An invitation ends early if its recipient chooses a new password or loses
 * access elsewhere. Those who invite still see it as open until it expires, because its early end would reveal
 * that the account exists.
 */
function waitingPerson(invitation: PartnerInvitation, nowMs: number, isStaff: boolean): ListedPerson {
	const { withdrawn, role, public_id: publicId, email, expires_at_ms: endsAtMs } = invitation;
	const isLinkWithdrawn = withdrawn === "with_maker" || (withdrawn !== null && isStaff);
	return {
		id: null,
		role,
		publicId,
		email,
		name: "",
		hasPassword: false,
		hasAuthenticator: false,
		linkEndsAtMs: !isLinkWithdrawn && endsAtMs > nowMs ? endsAtMs : null,
		isLinkWithdrawn,
		deactivatedAtMs: null,
	};
}

const WHO_SIGNS_IN =
	"Who signs in for you. Everybody here can create links, see sales and earnings, enter payment details, and invite and remove others.";

const LESSER_ROLE =
	" A lower role also limits the API keys that the person issued. The keys of a developer can only report sales, and the keys of a viewer are revoked.";

/**
 * Shows the page. `invited` contains a one-time link, which only this response shows. The link must not be
 * put into an address or a cookie.
 */
export async function showPeople(c: WebContext, deps: WebDeps, invited?: SentLink): Promise<Response> {
	const { programme, partner } = groupHere(c);
	const isStaff = page.viewerOf(c).kind === "staff";
	const mayManage = programme === undefined || page.may(c, "manage");
	const canMail = deps.mails.isOn;
	const people = await peopleHere(c, deps, isStaff);
	const [title, hint] = partner
		? [
				"People",
				isStaff ? "Who signs in for this partner. They see what it earns, and make links." : WHO_SIGNS_IN,
			]
		: programme === undefined
			? [
					"Staff",
					"They see every programme, review conversions and invite shops. A shop's people are listed under their programme.",
				]
			: [
					"People",
					`Who has access to this programme.${canMail ? " Owners and developers are mailed when callbacks fail." : ""}${mayManage ? LESSER_ROLE : ""}`,
				];
	const form = () =>
		INVITE_FORM.show(c, {
			action: `${pathHere(c)}/invite`,
			send: "Invite",
			shown: programme === undefined ? ["email"] : ["email", "role"],
			looks: { email: { hint: sayInvitation(isStaff, canMail) } },
		});
	return page.answerPage(c, {
		title,
		active: title === "Staff" ? "staff" : "people",
		body: [
			ui.pageHeader({ title, hint }),
			invited === undefined ? null : invitationCard(invited, partner?.name),
			ui.section({
				id: title.toLowerCase(),
				title: title === "Staff" ? "Accounts" : "People",
				body: peopleTable(c, people, mayManage),
			}),
			mayManage ? ui.section({ id: "invite", title: "Invite a person", body: ui.padded(form()) }) : null,
		],
	});
}

/** Reads the people to list. A programme or partner also lists people who were invited and have not joined yet. */
async function peopleHere(
	c: WebContext,
	{ store, clock }: WebDeps,
	isStaff: boolean,
): Promise<ListedPerson[]> {
	const { programme, partner } = groupHere(c);
	const nowMs = clock.nowMs();
	if (partner !== undefined) {
		const invitations = await listPartnerInvitations(store.db, partner.id);
		return [
			...(await listPartnerPeople(store.db, partner.id, nowMs)),
			...invitations.map((invitation) => waitingPerson(invitation, nowMs, isStaff)),
		];
	}
	if (programme === undefined) return listStaff(store.db, nowMs);
	const invitations = await listProgrammeInvitations(store.db, programme.id);
	return [
		...(await listProgrammePeople(store.db, programme.id, nowMs)),
		...invitations.map((invitation) => waitingPerson(invitation, nowMs, isStaff)),
	];
}

function peopleTable(c: WebContext, people: readonly ListedPerson[], mayManage: boolean): Html {
	const path = pathHere(c);
	const { programme, partner } = groupHere(c);
	const isOfStaff = programme === undefined && partner === undefined;
	const { publicId: selfId, kind } = page.viewerOf(c);
	const owners = people.filter(({ id, role }) => id !== null && role === "owner");
	// The last owner of a programme cannot be removed, and staff cannot end their own access.
	const mustStay = (person: ListedPerson) =>
		isOfStaff ? person.publicId === selfId : owners.length === 1 && owners.includes(person);
	const actionsOf = (person: ListedPerson): PersonAction[] => {
		if (person.publicId === selfId && partner !== undefined) return [];
		if (person.publicId === selfId && kind !== "staff" && !mustStay(person)) return [LEAVE];
		if (!mayManage) return [];
		// Staff create password links for others, but not for themselves.
		const mayLink = !person.hasPassword || (kind === "staff" && person.publicId !== selfId);
		const mayEnd = !mustStay(person) && person.deactivatedAtMs === null;
		const end = endAction(person, isOfStaff ? "staff" : partner);
		const data = kind === "staff" && person.id !== null ? [dataAction(person)] : [];
		return [...(mayLink ? [linkAction(person)] : []), ...(mayEnd ? [end] : []), ...data];
	};
	const state = { title: "State", cell: personState };
	return ui.dataTable<ListedPerson>({
		caption: isOfStaff ? "Staff" : "People, one per row",
		rows: people,
		stacks: true,
		empty: html`<p class="card-body soft">No people yet.${mayManage ? " Invite the first one below." : ""}</p>`,
		columns: [
			{
				title: "Person",
				namesRow: true,
				cell: ({ publicId, email, name }) =>
					html`${ui.emailText(email)}${
						publicId === selfId ? html` <span class="faint">(you)</span>` : null
					}<span class="secondary">${name}</span>`,
			},
			// Staff see which of their colleagues have an authenticator. Owners do not see this of their people.
			...(programme === undefined
				? [state, ...(isOfStaff ? [{ title: "Authenticator", cell: authenticatorState }] : [])]
				: [
						{
							title: "Role",
							// The role of an open invitation cannot be changed. The invitation has to be withdrawn and sent
							// again.
							cell: (person: ListedPerson) =>
								roleCell(path, person, mayManage && person.id !== null && !mustStay(person)),
						},
						state,
					]),
			{
				title: "Actions",
				isTitleHidden: true,
				cell: (person) => {
					const forms = actionsOf(person).map(({ action, asksFirst, href, ...look }) =>
						asksFirst === true || href !== undefined
							? ui.linkButton({ href: href ?? `${path}/${action}`, isSmall: true, ...look })
							: ui.buttonForm({ action: `${path}/${action}`, isSmall: true, ...look }),
					);
					return forms.length === 0 ? null : html`<div class="row row-end">${forms}</div>`;
				},
			},
		],
	});
}

function personState({ hasPassword, linkEndsAtMs, isLinkWithdrawn, deactivatedAtMs }: ListedPerson): Html {
	const state = (badge: Html, more: Content) =>
		html`${badge}${more === null ? null : html`<span class="secondary">${more}</span>`}`;
	const until = linkEndsAtMs === null ? null : html`link valid until ${ui.timeTag(linkEndsAtMs)}`;
	if (hasPassword) {
		return state(ui.badge("good", "Joined"), until === null ? null : html`password ${until}`);
	}
	if (deactivatedAtMs !== null) return state(ui.badge("plain", "Deactivated"), ui.timeTag(deactivatedAtMs));
	if (until !== null) return state(ui.badge("info", "Invited"), until);
	if (isLinkWithdrawn) {
		return state(ui.badge("warn", "Withdrawn"), "the link no longer works; send a new one");
	}
	return ui.badge("warn", "Link expired");
}

function authenticatorState({ hasPassword, hasAuthenticator }: ListedPerson): Html | null {
	if (!hasPassword) return null;
	return hasAuthenticator ? ui.badge("good", "On") : ui.badge("plain", "Off");
}

/**
 * Returns a select field for the role. If the role cannot be changed, as for the last owner, returns it as
 * plain text.
 */
function roleCell(path: string, person: ListedPerson, mayChange: boolean): Html | string {
	const { role, email, publicId } = person;
	if (role === null) return "";
	if (!mayChange) return ROLE_WORDS[role];
	const options = PROGRAMME_ROLES.map(
		(value) => html`<option${ui.attrs({ value, selected: value === role })}>${ROLE_WORDS[value]}</option>`,
	);
	const change = ui.button({ label: "Change", isSmall: true, ariaLabel: `Change the role of ${email}` });
	return ui.postForm({
		action: `${path}/${publicId}/role`,
		className: "row choice",
		body: html`<select name="role" aria-label="Role of ${email}">${options}</select>${change}`,
	});
}

interface PersonAction extends ui.Button {
	action: string;
	/** True if the button leads to a confirmation page first (end-access-page.ts). */
	asksFirst?: true;
	/** Address of another page to which the button leads. */
	href?: string;
}

/** Returns the button that leads staff to the page on which they export and erase the person's data. */
function dataAction({ publicId, email }: ListedPerson): PersonAction {
	return {
		action: "",
		label: "Data",
		ariaLabel: `Personal data of ${email}`,
		href: personDataPath(publicId),
	};
}

const LEAVE: PersonAction = {
	action: "leave",
	label: "Leave",
	tone: "danger",
	ariaLabel: "Leave this programme",
	asksFirst: true,
};

/** Returns the button that ends a person's access. `group` is undefined on the page of a programme. */
function endAction(
	{ id, publicId, email }: ListedPerson,
	group: "staff" | Partner | undefined,
): PersonAction {
	const [verb, label] = group === "staff" ? ["deactivate", "Deactivate"] : ["remove", "Remove"];
	const end = { action: `${publicId}/${verb}`, tone: "danger" } as const;
	if (id === null) {
		// An invited person has no role yet, so removing them only withdraws the invitation.
		return {
			...end,
			label: "Withdraw",
			ariaLabel: `Withdraw the invitation to ${email}`,
			confirm: `Withdraw the invitation to ${email}? Its link stops working.`,
		};
	}
	const look = { ...end, label, ariaLabel: `${label} ${email}` };
	if (group === undefined || group === "staff") return { ...look, asksFirst: true };
	const confirm = `Remove ${email}? They no longer sign in for ${group.name}, and are signed out everywhere.`;
	return { ...look, confirm };
}

function linkAction({ publicId, email, hasPassword, deactivatedAtMs }: ListedPerson): PersonAction {
	const action = `${publicId}/link`;
	if (hasPassword) {
		return {
			action,
			label: "Password link",
			ariaLabel: `Password link for ${email}`,
			confirm: `Create a link with which ${email} can choose a new password? You hand it over yourself.`,
		};
	}
	return deactivatedAtMs === null
		? { action, label: "New link", ariaLabel: `New link for ${email}` }
		: { action, label: "Invite again", ariaLabel: `Invite ${email} again` };
}

/** Shows a new link once to the person who created it, and says whether it was mailed. */
export function invitationCard(invited: SentLink, where = "the programme"): Html {
	const onlyHere = sayOpensOnlyHere(invited.link ?? "");
	return ui.section({
		id: "invitation",
		title: `${invited.isForPassword ? "New password" : "Invitation"} for ${invited.email}`,
		body: ui.padded(
			html`<div class="stack">${describeInvitation(invited, where)}${onlyHere === null ? null : ui.message("warn", onlyHere)}</div>`,
		),
	});
}

function describeInvitation(
	{ link, isMailed, isLinkWithheld, isForPassword, isInvitedAlready, email }: SentLink,
	where: string,
): Content {
	if (link !== null && isForPassword) {
		return html`<p class="break">Anyone who opens this link can sign in as ${email}. Make sure that they asked for it, and hand it over yourself:</p>
	<p>${ui.copyable(link, "the link for a new password")}</p>
	<p class="small soft">It works once, for 24 hours, and is not shown again. They are signed out everywhere when they use it; an authenticator stays on.${
		isMailed ? " A mail tells them that it was created." : ""
	}</p>`;
	}
	if (link !== null) {
		return html`<p>${
			isMailed
				? "It is on its way by mail. You can hand it over yourself, too:"
				: "This service cannot send mail (SMTP_URL is not set). Hand this link over yourself:"
		}</p>
	<p>${ui.copyable(link, "the invitation link")}</p>
	<p class="small soft">It works once, for seven days, and is not shown again. A new link replaces it.</p>`;
	}
	if (isInvitedAlready && !isLinkWithheld) {
		return html`<p class="break">${email} has an earlier invitation that is still valid, and its link gives access to ${where}, too. ${isMailed ? "A mail tells them so." : "This service cannot send mail, so tell them yourself."}</p>`;
	}
	if (isMailed) return html`<p class="break">A mail is on its way to ${email}.</p>`;
	return isLinkWithheld
		? html`<p class="break">This service cannot send mail, and only the network's staff may hand over a link, because anyone who has it can sign in as ${email}. Ask the network's staff for it.</p>`
		: html`<p class="break">${email} can sign in already and finds ${where} there. This service cannot send mail, so tell them yourself.</p>`;
}
