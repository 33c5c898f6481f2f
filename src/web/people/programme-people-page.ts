// /programmes/:id/people: who has access to the programme, and what each may do. Staff and owners alike invite, change
// roles and remove; everybody else sees the list.

import { sayWhatEnded, withinProgramme } from "../../domain/ended-access.ts";
import type { PersonKind } from "../../domain/roles.ts";
import { invitePerson } from "../../people/invitations.ts";
import {
	changeRole,
	inviteToProgramme,
	leaveProgramme,
	type PersonRemoved,
	type RoleChanged,
	removePerson,
	renewProgrammeLink,
} from "../../people/programme-people.ts";
import { deactivateStaff, renewStaffLink } from "../../people/staff.ts";
import { listProgrammeInvitations, type ProgrammeInvitation } from "../../store/queries/links.ts";
import { type ListedPerson, listProgrammePeople, listStaff } from "../../store/queries/people.ts";
import type { Programme } from "../../store/queries/programmes.ts";
import { readTextFields } from "../form.ts";
import {
	answerPage,
	csrfField,
	makerOf,
	may,
	programmeOf,
	setFlash,
	viewerOf,
	type WebContext,
	type WebDeps,
} from "../page.ts";
import { peoplePath, SIGN_IN_PATH, STAFF_PATH } from "../paths.ts";
import { button, card, html, linkButton, pageHeader, postForm } from "../ui.ts";
import {
	answerPeople,
	INVITE_FORM,
	type PeopleState,
	type PeopleView,
	sayEnded,
	sayStaffInvitation,
} from "./people-page.ts";

export function showProgrammePeople(c: WebContext, deps: WebDeps): Promise<Response> {
	return answerList(c, deps, {});
}

export async function inviteAnother(c: WebContext, deps: WebDeps): Promise<Response> {
	const { email: typed, role } = await INVITE_FORM.read(c);
	const email = typed.trim();
	const invited = await inviteToProgramme(deps, makerOf(c), programmeOf(c), { email, role });
	return answerList(c, deps, invited.ok ? { invited: invited.value } : { email, role, fault: invited.fault });
}

export async function linkPerson(c: WebContext, deps: WebDeps): Promise<Response> {
	const renewed = await renewProgrammeLink(deps, makerOf(c), programmeOf(c), c.req.param("personId") ?? "");
	return answerList(c, deps, renewed.ok ? { invited: renewed.value } : { fault: renewed.fault });
}

export async function changeRoleOf(c: WebContext, deps: WebDeps): Promise<Response> {
	const programme = programmeOf(c);
	const { role } = await readTextFields(c, ["role"]);
	const changed = await changeRole(deps, makerOf(c), programme, c.req.param("personId") ?? "", role);
	if (!changed.ok) {
		// Said above the list: the field of that name is the invitation's.
		const { field: _, ...fault } = changed.fault;
		return answerList(c, deps, { fault });
	}
	setFlash(c, changed.value.before === changed.value.after ? "info" : "good", sayChanged(changed.value));
	return c.redirect(peoplePath(programme.public_id), 303);
}

export async function removeFromProgramme(c: WebContext, deps: WebDeps): Promise<Response> {
	const programme = programmeOf(c);
	const viewer = viewerOf(c);
	const removed = await removePerson(deps, makerOf(c), programme, c.req.param("personId") ?? "");
	if (!removed.ok) return answerList(c, deps, { fault: removed.fault });
	if (removed.value.personId === viewer.personId) return goAway(c, programme, removed.value);
	setFlash(c, "good", sayRemoved(viewer.kind, programme, removed.value));
	return c.redirect(peoplePath(programme.public_id), 303);
}

export async function leave(c: WebContext, deps: WebDeps): Promise<Response> {
	const programme = programmeOf(c);
	const { sure } = await readTextFields(c, ["sure"]);
	if (sure !== "yes") return askWhetherToLeave(c, programme);
	const left = await leaveProgramme(deps, makerOf(c), programme);
	return left.ok ? goAway(c, programme, left.value) : answerList(c, deps, { fault: left.fault });
}

/** On a page of its own, because nobody can take it back by themselves, and with scripts off as well. */
function askWhetherToLeave(c: WebContext, { name, public_id: programmeId }: Programme): Promise<Response> {
	const path = peoplePath(programmeId);
	const title = `Leave ${name}?`;
	return answerPage(c, {
		title,
		active: "people",
		body: html`${pageHeader({
			title,
			hint: "You lose access at once and are signed out everywhere. To come back, you need a new invitation.",
		})}${card(
			postForm({
				action: `${path}/leave`,
				csrf: csrfField(c),
				className: "row",
				body: html`<input type="hidden" name="sure" value="yes">${button({
					label: "Leave this programme",
					tone: "danger",
				})}${linkButton({ label: "Stay", href: path, tone: "quiet" })}`,
			}),
		)}`,
	});
}

/** Whoever leaves is signed out everywhere, as everybody is whose access ends. */
function goAway(c: WebContext, programme: Programme, left: PersonRemoved): Response {
	setFlash(c, "good", sayLeft(programme, left));
	return c.redirect(SIGN_IN_PATH, 303);
}

async function answerList(
	c: WebContext,
	{ store, clock, mails }: WebDeps,
	state: PeopleState,
): Promise<Response> {
	const programme = programmeOf(c);
	const { kind } = viewerOf(c);
	const mayManage = may(c, "manage");
	const people = await listProgrammePeople(store.db, programme.id, clock.nowMs());
	const waiting = (await listProgrammeInvitations(store.db, programme.id)).map((invitation) =>
		waitingPerson(invitation, clock.nowMs(), kind),
	);
	const owners = people.filter(({ role }) => role === "owner");
	const isLastOwner = (person: ListedPerson) => owners.length === 1 && owners.includes(person);
	const view: PeopleView = {
		title: "People",
		active: "people",
		hint: `Who has access to this programme.${mails.isOn ? " Owners and developers are mailed when callbacks fail." : ""}`,
		list: { id: "people", title: "People", caption: "People of this programme" },
		invite: mayManage ? { title: "Invite somebody", hint: sayInvitation(kind, mails.isOn) } : null,
		roles: { mayChange: (person) => mayManage && !isLastOwner(person) },
		people: [...people, ...waiting],
		path: peoplePath(programme.public_id),
		mayLinkPassword: () => kind === "staff",
		mayEnd: (person) => !isLastOwner(person),
		mayLeave: (person) => kind === "shop" && !isLastOwner(person),
		ending: {
			action: "remove",
			label: "Remove",
			confirm: (address) =>
				`Remove ${address} from this programme? They are signed out at once, and every link they made stops working.`,
		},
	};
	return answerPeople(c, view, state);
}

function sayInvitation(kind: PersonKind, canMail: boolean): string {
	if (kind === "staff") return sayStaffInvitation(canMail);
	return canMail
		? "They get a link by mail and have access once they accept."
		: "No mail can be sent from here: once you have invited them, ask the network's staff to hand the link over.";
}

function sayChanged({ email, name, before, after, ended }: RoleChanged): string {
	const who = name === "" ? email : name;
	if (before === after) return `${who} is ${after} already. Nothing was changed.`;
	const said = ended === null ? null : sayWhatEnded(ended);
	return `Saved. ${who} is now ${after} (was ${before}).${said === null ? "" : ` ${said}.`}`;
}

/** All of it was theirs, also what did not belong to this programme. */
function sayLeft({ name }: Programme, { ended }: PersonRemoved): string {
	const said = ended === null ? null : sayWhatEnded(ended);
	return `You left ${name}.${said === null ? "" : ` ${said}.`}`;
}

function sayRemoved(kind: PersonKind, programme: Programme, { email, name, ended }: PersonRemoved): string {
	if (ended === null) return `The invitation to ${email} was withdrawn.`;
	return sayEnded({ email, name }, kind === "staff" ? ended : withinProgramme(ended, programme.id));
}

/**
 * Whether or not they have an account: they look the same until they accept. An invitation that ended because its
 * recipient chose a new password, or lost access elsewhere, would tell an owner that there is such an account: to
 * owners it looks as before until its time is over.
 */
function waitingPerson(invitation: ProgrammeInvitation, nowMs: number, kind: PersonKind): ListedPerson {
	const isWithdrawn =
		invitation.withdrawn === "with_maker" || (invitation.withdrawn !== null && kind === "staff");
	return {
		id: null,
		role: invitation.role,
		publicId: invitation.public_id,
		email: invitation.email,
		name: "",
		hasPassword: false,
		hasAuthenticator: false,
		linkEndsAtMs: !isWithdrawn && invitation.expires_at_ms > nowMs ? invitation.expires_at_ms : null,
		isLinkWithdrawn: isWithdrawn,
		deactivatedAtMs: null,
	};
}

// /people: the network's own people. Whoever is deactivated is signed out everywhere at once.

export function showStaff(c: WebContext, deps: WebDeps): Promise<Response> {
	return answerStaff(c, deps, {});
}

export async function inviteColleague(c: WebContext, deps: WebDeps): Promise<Response> {
	const email = (await INVITE_FORM.read(c)).email.trim();
	const invited = await invitePerson(deps, { email, membership: null, invitedBy: makerOf(c) });
	return answerStaff(c, deps, invited.ok ? { invited: invited.value } : { email, fault: invited.fault });
}

export async function linkStaff(c: WebContext, deps: WebDeps): Promise<Response> {
	const renewed = await renewStaffLink(deps, makerOf(c), c.req.param("personId") ?? "");
	return answerStaff(c, deps, renewed.ok ? { invited: renewed.value } : { fault: renewed.fault });
}

export async function deactivatePerson(c: WebContext, deps: WebDeps): Promise<Response> {
	const ended = await deactivateStaff(deps, makerOf(c), c.req.param("personId") ?? "");
	if (!ended.ok) return answerStaff(c, deps, { fault: ended.fault });
	setFlash(c, "good", sayEnded(ended.value.person, ended.value.ended));
	return c.redirect(STAFF_PATH, 303);
}

async function answerStaff(
	c: WebContext,
	{ store, clock, mails }: WebDeps,
	state: PeopleState,
): Promise<Response> {
	const isOther = ({ id }: ListedPerson) => id !== viewerOf(c).personId;
	const view: PeopleView = {
		title: "Staff",
		active: "staff",
		hint: "They see every programme, review conversions and invite shops. A shop's people are listed under their programme.",
		list: { id: "staff", title: "Accounts", caption: "Staff" },
		invite: { title: "Invite staff", hint: sayStaffInvitation(mails.isOn) },
		people: await listStaff(store.db, clock.nowMs()),
		path: STAFF_PATH,
		showsAuthenticator: true,
		mayLinkPassword: isOther,
		mayEnd: isOther,
		ending: {
			action: "deactivate",
			label: "Deactivate",
			confirm: (address) =>
				`Deactivate ${address}? They are signed out everywhere at once, and every link they made stops working.`,
		},
	};
	return answerPeople(c, view, state);
}
