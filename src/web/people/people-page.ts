// The people of a programme (/programmes/:id/people) and the staff (/people): who has joined, who still has a link to
// open, what can be done about them, and the form that invites another. Owners and staff invite, change roles and remove;
// everybody else sees the list.

import { PROGRAMME_ROLES, type ProgrammeRole, ROLE_SUMMARIES } from "../../domain/roles.ts";
import { type EndedAccess, sayWhatEnded } from "../../people/end-access.ts";
import { invitePerson, type SentLink } from "../../people/invitations.ts";
import {
	changeRole,
	deactivateStaff,
	inviteToProgramme,
	leaveProgramme,
	removePerson,
	renewProgrammeLink,
	renewStaffLink,
} from "../../people/programme-people.ts";
import { listProgrammeInvitations, type ProgrammeInvitation } from "../../store/queries/links.ts";
import { type ListedPerson, listProgrammePeople, listStaff } from "../../store/queries/people.ts";
import type { Area } from "../document.ts";
import { declareForm, readTextFields } from "../form.ts";
import type { WebContext, WebDeps } from "../page.ts";
import * as page from "../page.ts";
import { peoplePath, SIGN_IN_PATH, STAFF_PATH } from "../paths.ts";
import * as ui from "../ui.ts";
import { type Content, type Html, html } from "../ui.ts";

const ROLE_WORDS: Readonly<Record<ProgrammeRole, string>> = {
	owner: "Owner",
	developer: "Developer",
	viewer: "Viewer",
};

const INVITE_FORM = declareForm({
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

interface PeopleView {
	title: string;
	active: Area;
	hint: string;
	list: { id: string; title: string; caption: string };
	/** Null for whoever may not invite, or do anything else about people here. */
	invite: { title: string; hint: string } | null;
	/** Of a programme's people; staff have none. */
	roles?: { mayChange(person: ListedPerson): boolean };
	people: readonly ListedPerson[];
	/** The page the actions are below. */
	path: string;
	ending: { action: "remove" | "deactivate"; label: string; confirm(email: string): string };
	/** Staff hand over links for new passwords; nobody makes one for themselves. */
	mayLinkPassword(person: ListedPerson): boolean;
	/** The last owner stays, and nobody of the staff ends their own access. */
	mayEnd(person: ListedPerson): boolean;
	/** Asked of the reader's own row. */
	mayLeave?(person: ListedPerson): boolean;
}

/** `invited`: its link is in the answer itself, shown this once. It must not pass through an address or a cookie. */
export async function showProgrammePeople(
	c: WebContext,
	{ store, clock, mails }: WebDeps,
	invited?: SentLink,
): Promise<Response> {
	const programme = page.programmeOf(c);
	const isStaff = page.viewerOf(c).kind === "staff";
	const mayManage = page.may(c, "manage");
	const people = await listProgrammePeople(store.db, programme.id, clock.nowMs());
	const waiting = (await listProgrammeInvitations(store.db, programme.id)).map((invitation) =>
		waitingPerson(invitation, clock.nowMs(), isStaff),
	);
	const owners = people.filter(({ role }) => role === "owner");
	const isLastOwner = (person: ListedPerson) => owners.length === 1 && owners.includes(person);
	const view: PeopleView = {
		title: "People",
		active: "people",
		hint: `Who has access to this programme.${mails.isOn ? " Owners and developers are mailed when callbacks fail." : ""}`,
		list: { id: "people", title: "People", caption: "People of this programme" },
		invite: mayManage ? { title: "Invite somebody", hint: sayInvitation(isStaff, mails.isOn) } : null,
		// An invitation that waits is withdrawn and sent anew.
		roles: { mayChange: (person) => mayManage && person.id !== null && !isLastOwner(person) },
		people: [...people, ...waiting],
		path: peoplePath(programme.public_id),
		mayLinkPassword: () => isStaff,
		mayEnd: (person) => !isLastOwner(person),
		mayLeave: (person) => !isStaff && !isLastOwner(person),
		ending: {
			action: "remove",
			label: "Remove",
			confirm: (address) =>
				`Remove ${address} from this programme? They are signed out at once, and every link they made stops working.`,
		},
	};
	return answerPeople(c, view, invited);
}

export async function inviteAnother(c: WebContext, deps: WebDeps): Promise<Response> {
	const { email, role } = await INVITE_FORM.read(c);
	const invited = await inviteToProgramme(deps, page.makerOf(c), page.programmeOf(c), {
		email: email.trim(),
		role,
	});
	if (!invited.ok) return INVITE_FORM.refuse(c, invited, () => showProgrammePeople(c, deps));
	return showProgrammePeople(c, deps, invited.value);
}

export async function linkPerson(c: WebContext, deps: WebDeps): Promise<Response> {
	const renewed = await renewProgrammeLink(deps, page.makerOf(c), page.programmeOf(c), personIdOf(c));
	if (!renewed.ok) return page.tellRefusal(c, renewed, () => showProgrammePeople(c, deps));
	return showProgrammePeople(c, deps, renewed.value);
}

export async function changeRoleOf(c: WebContext, deps: WebDeps): Promise<Response> {
	const programme = page.programmeOf(c);
	const { role } = await readTextFields(c, ["role"]);
	const changed = await changeRole(deps, page.makerOf(c), programme, personIdOf(c), role);
	if (!changed.ok) return page.tellRefusal(c, changed, () => showProgrammePeople(c, deps));
	const { email, name, before, after, ended } = changed.value;
	const who = name === "" ? email : name;
	const path = peoplePath(programme.public_id);
	if (before === after) {
		return page.leadTo(c, path, `${who} is ${after} already. Nothing was changed.`, "info");
	}
	return page.leadTo(c, path, `Saved. ${who} is now ${after} (was ${before}).${sayAlso(ended)}`);
}

export async function removeFromProgramme(c: WebContext, deps: WebDeps): Promise<Response> {
	const programme = page.programmeOf(c);
	const removed = await removePerson(deps, page.makerOf(c), programme, personIdOf(c));
	if (!removed.ok) return page.tellRefusal(c, removed, () => showProgrammePeople(c, deps));
	const { email, ended } = removed.value;
	const said = ended === null ? `The invitation to ${email} was withdrawn.` : sayEnded(removed.value, ended);
	return page.leadTo(c, peoplePath(programme.public_id), said);
}

/** Whoever leaves is signed out everywhere, as everybody is whose access ends. */
export async function leave(c: WebContext, deps: WebDeps): Promise<Response> {
	const programme = page.programmeOf(c);
	const left = await leaveProgramme(deps, page.makerOf(c), programme);
	if (!left.ok) return page.tellRefusal(c, left, () => showProgrammePeople(c, deps));
	return page.leadTo(c, SIGN_IN_PATH, `You left ${programme.name}.${sayAlso(left.value.ended)}`);
}

export async function showStaff(
	c: WebContext,
	{ store, clock, mails }: WebDeps,
	invited?: SentLink,
): Promise<Response> {
	const isOther = ({ id }: ListedPerson) => id !== page.viewerOf(c).personId;
	const view: PeopleView = {
		title: "Staff",
		active: "staff",
		hint: "They see every programme, review conversions and invite shops. A shop's people are listed under their programme.",
		list: { id: "staff", title: "Accounts", caption: "Staff" },
		invite: { title: "Invite staff", hint: sayInvitation(true, mails.isOn) },
		people: await listStaff(store.db, clock.nowMs()),
		path: STAFF_PATH,
		mayLinkPassword: isOther,
		mayEnd: isOther,
		ending: {
			action: "deactivate",
			label: "Deactivate",
			confirm: (address) =>
				`Deactivate ${address}? They are signed out everywhere at once, and every link they made stops working.`,
		},
	};
	return answerPeople(c, view, invited);
}

export async function inviteColleague(c: WebContext, deps: WebDeps): Promise<Response> {
	const email = (await INVITE_FORM.read(c)).email.trim();
	const invited = await invitePerson(deps, { email, membership: null, invitedBy: page.makerOf(c) });
	if (!invited.ok) return INVITE_FORM.refuse(c, invited, () => showStaff(c, deps));
	return showStaff(c, deps, invited.value);
}

export async function linkStaff(c: WebContext, deps: WebDeps): Promise<Response> {
	const renewed = await renewStaffLink(deps, page.makerOf(c), personIdOf(c));
	if (!renewed.ok) return page.tellRefusal(c, renewed, () => showStaff(c, deps));
	return showStaff(c, deps, renewed.value);
}

export async function deactivatePerson(c: WebContext, deps: WebDeps): Promise<Response> {
	const ended = await deactivateStaff(deps, page.makerOf(c), personIdOf(c));
	if (!ended.ok) return page.tellRefusal(c, ended, () => showStaff(c, deps));
	return page.leadTo(c, STAFF_PATH, sayEnded(ended.value.person, ended.value.ended));
}

function personIdOf(c: WebContext): string {
	return c.req.param("personId") ?? "";
}

function sayAlso(ended: EndedAccess | null): string {
	const said = ended === null ? null : sayWhatEnded(ended);
	return said === null ? "" : ` ${said}.`;
}

function sayEnded({ email, name }: { email: string; name: string }, ended: EndedAccess): string {
	const said = sayWhatEnded(ended);
	return `${name === "" ? email : name}'s access ended${said === null ? "" : `: ${said}`}.`;
}

/** Staff are shown every link. */
function sayInvitation(isStaff: boolean, canMail: boolean): string {
	if (!isStaff) {
		return canMail
			? "They get a link by mail and have access once they accept."
			: "No mail can be sent from here: once you have invited them, ask the network's staff to hand the link over.";
	}
	return canMail
		? "They get a link to choose a password. You can copy it, too."
		: "You get a link to hand over, with which they choose a password.";
}

/**
 * Whether or not they have an account: they look the same until they accept. An invitation that ended because its
 * recipient chose a new password, or lost access elsewhere, would tell an owner that there is such an account: to
 * owners it looks as before until its time is over.
 */
function waitingPerson(invitation: ProgrammeInvitation, nowMs: number, isStaff: boolean): ListedPerson {
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

function answerPeople(c: WebContext, view: PeopleView, invited: SentLink | undefined): Promise<Response> {
	const { title, active, hint, list, invite, path } = view;
	return page.answerPage(c, {
		title,
		active,
		body: [
			ui.pageHeader({ title, hint }),
			invited === undefined ? null : invitationCard(invited),
			ui.section({ id: list.id, title: list.title, body: peopleTable(c, view) }),
			invite === null
				? null
				: ui.section({
						id: "invite",
						title: invite.title,
						body: ui.padded(
							INVITE_FORM.show(c, {
								action: `${path}/invite`,
								send: "Invite",
								shown: view.roles === undefined ? ["email"] : ["email", "role"],
								looks: { email: { hint: invite.hint } },
							}),
						),
					}),
		],
	});
}

function peopleTable(c: WebContext, view: PeopleView): Html {
	const { roles, invite, path } = view;
	const csrf = page.csrfField(c);
	const selfId = page.viewerOf(c).publicId;
	const middle: ui.Column<ListedPerson>[] =
		roles === undefined
			? // Of the staff it concerns all of them; owners keep it to themselves.
				[
					{ title: "State", cell: personState },
					{ title: "Authenticator", cell: authenticatorState },
				]
			: [
					{ title: "Role", cell: (person) => roleCell(path, csrf, person, roles.mayChange(person)) },
					{ title: "State", cell: personState },
				];
	return ui.dataTable<ListedPerson>({
		caption: view.list.caption,
		rows: view.people,
		stacks: true,
		empty: html`<p class="card-body soft">Nobody yet.${invite === null ? "" : " Invite somebody below."}</p>`,
		columns: [
			{
				title: "Person",
				namesRow: true,
				cell: ({ publicId, email, name }) =>
					html`${ui.emailText(email)}${
						publicId === selfId ? html` <span class="faint">(you)</span>` : null
					}<span class="secondary">${name}</span>`,
			},
			...middle,
			{
				title: "Actions",
				isTitleHidden: true,
				cell: (person) => {
					const isLeaving = person.publicId === selfId && view.mayLeave?.(person) === true;
					if (!isLeaving && invite === null) return null;
					const forms = isLeaving ? [LEAVE] : actionsFor(view, person);
					return html`<div class="row row-end">${forms.map(({ action, ...look }) =>
						ui.buttonForm({ action: `${path}/${action}`, csrf, isSmall: true, ...look }),
					)}</div>`;
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

/** Chosen where it can be changed; the last owner stays one. */
function roleCell(path: string, csrf: Html, person: ListedPerson, mayChange: boolean): Html | string {
	const { role, email, publicId } = person;
	if (role === null) return "";
	if (!mayChange) return ROLE_WORDS[role];
	const options = PROGRAMME_ROLES.map(
		(value) => html`<option${ui.attrs({ value, selected: value === role })}>${ROLE_WORDS[value]}</option>`,
	);
	const change = ui.button({ label: "Change", isSmall: true, ariaLabel: `Change the role of ${email}` });
	return ui.postForm({
		action: `${path}/${publicId}/role`,
		csrf,
		className: "row choice",
		body: html`<select name="role" aria-label="Role of ${email}">${options}</select>${change}`,
	});
}

interface PersonAction extends ui.Button {
	action: string;
}

const LEAVE: PersonAction = {
	action: "leave",
	label: "Leave",
	tone: "danger",
	ariaLabel: "Leave this programme",
	confirm:
		"Leave this programme? You lose access at once and are signed out everywhere. To come back, you need a new invitation.",
};

function actionsFor(view: PeopleView, person: ListedPerson): PersonAction[] {
	const { ending } = view;
	const { publicId, email, hasPassword, deactivatedAtMs } = person;
	const mayLink = !hasPassword || view.mayLinkPassword(person);
	const mayEnd = view.mayEnd(person) && deactivatedAtMs === null;
	const end = { action: `${publicId}/${ending.action}`, tone: "danger" } as const;
	return [
		...(mayLink ? [{ action: `${publicId}/link`, ...linkWords(person) }] : []),
		...(!mayEnd
			? []
			: person.id === null
				? [
						{
							...end,
							// Nobody yet: what ends is the invitation.
							label: "Withdraw",
							ariaLabel: `Withdraw the invitation to ${email}`,
							confirm: `Withdraw the invitation to ${email}? Its link stops working.`,
						},
					]
				: [
						{
							...end,
							label: ending.label,
							ariaLabel: `${ending.label} ${email}`,
							confirm: ending.confirm(email),
						},
					]),
	];
}

function linkWords({ email, hasPassword, deactivatedAtMs }: ListedPerson): ui.Button {
	if (hasPassword) {
		return {
			label: "Password link",
			ariaLabel: `Password link for ${email}`,
			confirm: `Create a link with which ${email} can choose a new password? You hand it over yourself.`,
		};
	}
	return deactivatedAtMs === null
		? { label: "New link", ariaLabel: `New link for ${email}` }
		: { label: "Invite again", ariaLabel: `Invite ${email} again` };
}

/** The link, shown once to whoever made it, and whether it was mailed. */
function invitationCard(invited: SentLink): Html {
	return ui.section({
		id: "invitation",
		title: `${invited.isForPassword ? "New password" : "Invitation"} for ${invited.email}`,
		body: ui.padded(html`<div class="stack">${describeInvitation(invited)}</div>`),
	});
}

function describeInvitation({ link, isMailed, isLinkWithheld, isForPassword, email }: SentLink): Content {
	if (link !== null && isForPassword) {
		return html`<p class="break">Whoever opens this link can sign in as ${email}. Make sure that it is really them who asked, and hand it over yourself:</p>
	<p>${ui.copyable(link, "the link for a new password")}</p>
	<p class="small soft">It works once, for 24 hours, and is not shown again. They are signed out everywhere when they use it; an authenticator stays on.${
		isMailed ? " A mail tells them that it was created." : ""
	}</p>`;
	}
	if (link !== null) {
		return html`<p>${
			isMailed
				? "It is on its way by mail. You can hand it over yourself, too:"
				: "No mail can be sent from here (SMTP_URL is not set). Hand this link over yourself:"
		}</p>
	<p>${ui.copyable(link, "the invitation link")}</p>
	<p class="small soft">It works once, for seven days, and is not shown again. A new link replaces it.</p>`;
	}
	if (isMailed) return html`<p class="break">A mail is on its way to ${email}.</p>`;
	return isLinkWithheld
		? html`<p class="break">No mail can be sent from here, and only the network's staff may hand over a link, because whoever has it can sign in as ${email}. Ask the network's staff for it.</p>`
		: html`<p class="break">${email} can sign in already and finds the programme there. No mail can be sent from here, so tell them yourself.</p>`;
}
