// The page of people, of a programme and of the staff: who has joined, who still has a link to open, what can be done
// about them, and the form that invites another.

import { type EndedAccess, sayWhatEnded } from "../../domain/ended-access.ts";
import type { Fault } from "../../domain/fault.ts";
import { PROGRAMME_ROLES, type ProgrammeRole, ROLE_SUMMARIES } from "../../domain/roles.ts";
import type { SentLink } from "../../people/invitations.ts";
import type { ListedPerson } from "../../store/queries/people.ts";
import type { Area } from "../document.ts";
import { declareForm } from "../form.ts";
import { answerPage, csrfField, viewerOf, type WebContext } from "../page.ts";
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

/** What a form of the page came to. */
export interface PeopleState {
	/** As typed and chosen, where it was refused. */
	email?: string;
	role?: string;
	fault?: Fault;
	/** The link is in the answer itself: it is shown this once, and must not pass through an address or a cookie. */
	invited?: SentLink;
}

export interface PeopleView {
	title: string;
	active: Area;
	hint: string;
	/** The list. */
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
	/** Of the staff it concerns all of them; owners keep it to themselves. */
	showsAuthenticator?: boolean;
	/** The last owner stays, and nobody of the staff ends their own access. */
	mayEnd(person: ListedPerson): boolean;
	/** Asked of the reader's own row. */
	mayLeave?(person: ListedPerson): boolean;
}

export function answerPeople(c: WebContext, view: PeopleView, state: PeopleState): Promise<Response> {
	const csrf = csrfField(c);
	const { fault, invited } = state;
	const { fields, above } = INVITE_FORM.fill(state, fault, {
		shown: view.roles === undefined ? ["email"] : ["email", "role"],
		looks: view.invite === null ? {} : { email: { hint: view.invite.hint } },
	});
	const invite = html`${fields()}<div class="row">${ui.button({ label: "Invite", tone: "primary" })}</div>`;
	const { id, title } = view.list;
	return answerPage(c, {
		title: view.title,
		active: view.active,
		status: fault?.httpStatus ?? 200,
		body: [
			ui.pageHeader({ title: view.title, hint: view.hint }),
			above,
			invited === undefined ? null : invitationCard(invited),
			ui.section({ id, title, body: peopleTable(view, csrf, viewerOf(c).publicId) }),
			view.invite === null
				? null
				: ui.section({
						id: "invite",
						title: view.invite.title,
						body: ui.padded(ui.postForm({ action: `${view.path}/invite`, csrf, body: invite })),
					}),
		],
	});
}

function peopleTable(view: PeopleView, csrf: Html, selfId: string): Html {
	const { roles, invite } = view;
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
			...(roles === undefined
				? []
				: [
						{
							title: "Role",
							cell: (person: ListedPerson) => roleCell(view.path, csrf, person, roles.mayChange(person)),
						},
					]),
			{ title: "State", cell: personState },
			...(view.showsAuthenticator === true ? [{ title: "Authenticator", cell: authenticatorState }] : []),
			{
				title: "Actions",
				isTitleHidden: true,
				cell: (person: ListedPerson) => {
					if (person.publicId === selfId && view.mayLeave?.(person) === true) return leaveForm(view, csrf);
					return invite === null ? null : actions(view, csrf, person);
				},
			},
		],
	});
}

function personState({ hasPassword, linkEndsAtMs, isLinkWithdrawn, deactivatedAtMs }: ListedPerson): Html {
	if (hasPassword) {
		const until = linkEndsAtMs === null ? null : html`password link valid until ${ui.timeTag(linkEndsAtMs)}`;
		return html`${ui.badge("good", "Joined")}${until === null ? null : html`<span class="secondary">${until}</span>`}`;
	}
	if (deactivatedAtMs !== null)
		return html`${ui.badge("plain", "Deactivated")}<span class="secondary">${ui.timeTag(deactivatedAtMs)}</span>`;
	if (linkEndsAtMs !== null)
		return html`${ui.badge("info", "Invited")}<span class="secondary">link valid until ${ui.timeTag(linkEndsAtMs)}</span>`;
	if (isLinkWithdrawn)
		return html`${ui.badge("warn", "Withdrawn")}<span class="secondary">the link no longer works; send a new one</span>`;
	return ui.badge("warn", "Link expired");
}

function authenticatorState({ hasPassword, hasAuthenticator }: ListedPerson): Html | null {
	if (!hasPassword) return null;
	return hasAuthenticator ? ui.badge("good", "On") : ui.badge("plain", "Off");
}

function actions(view: PeopleView, csrf: Html, person: ListedPerson): Html {
	const { path, ending } = view;
	const { publicId, email, hasPassword } = person;
	const hasAccess = person.deactivatedAtMs === null;
	const mayEnd = view.mayEnd(person) && hasAccess;
	// Nobody yet: what ends is the invitation.
	const end =
		person.id === null
			? { label: "Withdraw", confirm: `Withdraw the invitation to ${email}? Its link stops working.` }
			: { label: ending.label, confirm: ending.confirm(email) };
	return html`<div class="row row-end">${
		hasPassword && !view.mayLinkPassword(person)
			? null
			: ui.buttonForm({
					action: `${path}/${publicId}/link`,
					csrf,
					isSmall: true,
					...linkButtonWords(person),
				})
	}${
		mayEnd
			? ui.buttonForm({
					action: `${path}/${publicId}/${ending.action}`,
					csrf,
					...end,
					tone: "danger",
					isSmall: true,
					ariaLabel: person.id === null ? `Withdraw the invitation to ${email}` : `${end.label} ${email}`,
				})
			: null
	}</div>`;
}

function leaveForm({ path }: PeopleView, csrf: Html): Html {
	return html`<div class="row row-end">${ui.buttonForm({
		action: `${path}/leave`,
		csrf,
		label: "Leave",
		tone: "danger",
		isSmall: true,
		ariaLabel: "Leave this programme",
	})}</div>`;
}

function linkButtonWords({ email, hasPassword, deactivatedAtMs }: ListedPerson) {
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

export function sayEnded({ email, name }: { email: string; name: string }, ended: EndedAccess): string {
	const who = name === "" ? email : name;
	const said = sayWhatEnded(ended);
	return `${who}'s access ended${said === null ? "" : `: ${said}`}.`;
}

/** Staff are shown every link. */
export function sayStaffInvitation(canMail: boolean): string {
	return canMail
		? "They get a link to choose a password. You can copy it, too."
		: "You get a link to hand over, with which they choose a password.";
}

/** The link, shown once to whoever made it, and whether it was mailed. */
export function invitationCard(invited: SentLink): Html {
	return ui.section({
		id: "invitation",
		title: `${invited.isForPassword ? "New password" : "Invitation"} for ${invited.email}`,
		body: ui.padded(html`<div class="stack">${describeInvitation(invited)}</div>`),
	});
}

function describeInvitation({ link, isMailed, isLinkWithheld, isForPassword, email }: SentLink): Content {
	if (link !== null && isForPassword) return describePasswordLink(link, isMailed, email);
	if (link !== null) return describeLink(link, isMailed);
	if (isMailed) return html`<p class="break">A mail is on its way to ${email}.</p>`;
	if (isLinkWithheld) {
		return html`<p class="break">No mail can be sent from here, and only the network's staff may hand over a link, because whoever has it can sign in as ${email}. Ask the network's staff for it.</p>`;
	}
	return html`<p class="break">${email} can sign in already and finds the programme there. No mail can be sent from here, so tell them yourself.</p>`;
}

function describeLink(link: string, isMailed: boolean): Content {
	return html`<p>${
		isMailed
			? "It is on its way by mail. You can hand it over yourself, too:"
			: "No mail can be sent from here (SMTP_URL is not set). Hand this link over yourself:"
	}</p>
	<p>${ui.copyable(link, "the invitation link")}</p>
	<p class="small soft">It works once, for seven days, and is not shown again. A new link replaces it.</p>`;
}

function describePasswordLink(link: string, isMailed: boolean, email: string): Content {
	return html`<p class="break">Whoever opens this link can sign in as ${email}. Make sure that it is really them who asked, and hand it over yourself:</p>
	<p>${ui.copyable(link, "the link for a new password")}</p>
	<p class="small soft">It works once, for 24 hours, and is not shown again. They are signed out everywhere when they use it; an authenticator stays on.${
		isMailed ? " A mail tells them that it was created." : ""
	}</p>`;
}

/** Chosen where it can be changed; the last owner stays one. */
function roleCell(
	path: string,
	csrf: Html,
	{ role, email, publicId }: ListedPerson,
	mayChange: boolean,
): Html | string {
	if (role === null) return "";
	if (!mayChange) return ROLE_WORDS[role];
	const options = PROGRAMME_ROLES.map(
		(value) => html`<option${ui.attrs({ value, selected: value === role })}>${ROLE_WORDS[value]}</option>`,
	);
	return ui.postForm({
		action: `${path}/${publicId}/role`,
		csrf,
		className: "row choice",
		body: html`<select name="role" aria-label="Role of ${email}">${options}</select>${ui.button({
			label: "Change",
			isSmall: true,
			ariaLabel: `Change the role of ${email}`,
		})}`,
	});
}
