// The page of people, of a programme and of the staff: who has joined, who still has a link to open, what can be done
// about them, and the form that invites another.

import { html } from "hono/html";
import type { SentLink } from "../../accounts/invitations.ts";
import { type EndedAccess, sayWhatEnded } from "../../domain/ended-access.ts";
import type { Fault } from "../../domain/fault.ts";
import type { ListedPerson } from "../../store/people-list.ts";
import { padded, pageHeader, section } from "../components/blocks.ts";
import { button, postForm, textField } from "../components/forms.ts";
import { dataTable } from "../components/lists.ts";
import { badge, copyable, emailText, timeTag } from "../components/text.ts";
import { csrfField } from "../csrf.ts";
import type { Area } from "../document.ts";
import type { WebContext } from "../env.ts";
import { type PlacedFault, placeFault } from "../form.ts";
import type { Content, Html } from "../html.ts";
import { answerPage } from "../page.ts";
import { viewerOf } from "../viewer.ts";
import { roleCell, roleField } from "./role-fields.ts";

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
	const { at, above } = placeFault(fault, ["email", "role"]);
	const { id, title } = view.list;
	return answerPage(c, {
		title: view.title,
		active: view.active,
		status: fault?.httpStatus ?? 200,
		body: [
			pageHeader({ title: view.title, hint: view.hint }),
			above,
			invited === undefined ? null : invitationCard(invited),
			section({ id, title, body: peopleTable(view, csrf, viewerOf(c).publicId) }),
			view.invite === null
				? null
				: section({
						id: "invite",
						title: view.invite.title,
						body: padded(inviteForm(view, view.invite.hint, state, csrf, at)),
					}),
		],
	});
}

function inviteForm(
	{ path, roles }: PeopleView,
	hint: string,
	{ email = "", role = "" }: PeopleState,
	csrf: Html,
	at: PlacedFault["at"],
): Html {
	return postForm({
		action: `${path}/invite`,
		csrf,
		body: html`${textField({
			name: "email",
			label: "Email",
			type: "email",
			value: email,
			error: at("email"),
			isRequired: true,
			autocomplete: "off",
			hint,
		})}${roles === undefined ? null : roleField(role, at("role"))}<div class="row">${button({ label: "Invite", tone: "primary" })}</div>`,
	});
}

function peopleTable(view: PeopleView, csrf: Html, selfId: string): Html {
	const { roles, invite } = view;
	return dataTable<ListedPerson>({
		caption: view.list.caption,
		rows: view.people,
		stacks: true,
		empty: html`<p class="card-body soft">Nobody yet.${invite === null ? "" : " Invite somebody below."}</p>`,
		columns: [
			{
				title: "Person",
				namesRow: true,
				cell: ({ publicId, email, name }) =>
					html`${emailText(email)}${
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
		const until = linkEndsAtMs === null ? null : html`password link valid until ${timeTag(linkEndsAtMs)}`;
		return html`${badge("good", "Joined")}${until === null ? null : html`<span class="secondary">${until}</span>`}`;
	}
	if (deactivatedAtMs !== null)
		return html`${badge("plain", "Deactivated")}<span class="secondary">${timeTag(deactivatedAtMs)}</span>`;
	if (linkEndsAtMs !== null)
		return html`${badge("info", "Invited")}<span class="secondary">link valid until ${timeTag(linkEndsAtMs)}</span>`;
	if (isLinkWithdrawn)
		return html`${badge("warn", "Withdrawn")}<span class="secondary">the link no longer works; send a new one</span>`;
	return badge("warn", "Link expired");
}

function authenticatorState({ hasPassword, hasAuthenticator }: ListedPerson): Html | null {
	if (!hasPassword) return null;
	return hasAuthenticator ? badge("good", "On") : badge("plain", "Off");
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
			: postForm({
					action: `${path}/${publicId}/link`,
					csrf,
					className: "row",
					body: button({ isSmall: true, ...linkButtonWords(person) }),
				})
	}${
		mayEnd
			? postForm({
					action: `${path}/${publicId}/${ending.action}`,
					csrf,
					className: "row",
					body: button({
						label: end.label,
						tone: "danger",
						isSmall: true,
						confirm: end.confirm,
						ariaLabel: person.id === null ? `Withdraw the invitation to ${email}` : `${end.label} ${email}`,
					}),
				})
			: null
	}</div>`;
}

function leaveForm({ path }: PeopleView, csrf: Html): Html {
	return html`<div class="row row-end">${postForm({
		action: `${path}/leave`,
		csrf,
		className: "row",
		body: button({
			label: "Leave",
			tone: "danger",
			isSmall: true,
			ariaLabel: "Leave this programme",
		}),
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
	return section({
		id: "invitation",
		title: `${invited.isForPassword ? "New password" : "Invitation"} for ${invited.email}`,
		body: padded(html`<div class="stack">${describeInvitation(invited)}</div>`),
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
	<p>${copyable(link, "the invitation link")}</p>
	<p class="small soft">It works once, for seven days, and is not shown again. A new link replaces it.</p>`;
}

function describePasswordLink(link: string, isMailed: boolean, email: string): Content {
	return html`<p class="break">Whoever opens this link can sign in as ${email}. Make sure that it is really them who asked, and hand it over yourself:</p>
	<p>${copyable(link, "the link for a new password")}</p>
	<p class="small soft">It works once, for 24 hours, and is not shown again. They are signed out everywhere when they use it; an authenticator stays on.${
		isMailed ? " A mail tells them that it was created." : ""
	}</p>`;
}
