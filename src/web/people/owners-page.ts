// /programmes/:id/people: who looks after the programme; staff and owners alike invite and remove.

import {
	inviteOwner,
	type OwnerRemoved,
	removeProgrammeOwner,
	renewOwnerLink,
} from "../../accounts/owners-and-staff.ts";
import { sayWithdrawn, withinProgramme } from "../../domain/ended-access.ts";
import { listProgrammeInvitations, type ProgrammeInvitation } from "../../store/links.ts";
import { type ListedPerson, listOwners } from "../../store/people-list.ts";
import type { Programme } from "../../store/programmes.ts";
import type { WebDeps } from "../deps.ts";
import type { WebContext } from "../env.ts";
import { setFlash } from "../flash.ts";
import { readTextFields } from "../form.ts";
import { ownersPath, SIGN_IN_PATH } from "../paths.ts";
import { makerOf, programmeOf, viewerOf } from "../viewer.ts";
import {
	answerPeople,
	type PeopleState,
	type PeopleView,
	sayEnded,
	sayStaffInvitation,
} from "./people-page.ts";

export function showOwners(c: WebContext, deps: WebDeps): Promise<Response> {
	return answerOwners(c, deps, {});
}

export async function inviteAnotherOwner(c: WebContext, deps: WebDeps): Promise<Response> {
	const email = (await readTextFields(c, ["email"])).email.trim();
	const invited = await inviteOwner(deps, makerOf(c), programmeOf(c), email);
	return answerOwners(c, deps, invited.ok ? { invited: invited.value } : { email, fault: invited.fault });
}

export async function linkOwner(c: WebContext, deps: WebDeps): Promise<Response> {
	const personId = c.req.param("personId") ?? "";
	const renewed = await renewOwnerLink(deps, makerOf(c), programmeOf(c), personId);
	return answerOwners(c, deps, renewed.ok ? { invited: renewed.value } : { fault: renewed.fault });
}

export async function removeOwner(c: WebContext, deps: WebDeps): Promise<Response> {
	const programme = programmeOf(c);
	const viewer = viewerOf(c);
	const removed = await removeProgrammeOwner(deps, makerOf(c), programme, c.req.param("personId") ?? "");
	if (!removed.ok) return answerOwners(c, deps, { fault: removed.fault });
	const isSelf = removed.value.personId === viewer.personId;
	setFlash(
		c,
		"good",
		isSelf ? sayLeft(programme, removed.value) : sayRemoved(viewer.role, programme, removed.value),
	);
	// Whoever leaves is signed out everywhere, as everybody is whose access ends.
	return c.redirect(isSelf ? SIGN_IN_PATH : ownersPath(programme.public_id), 303);
}

async function answerOwners(
	c: WebContext,
	{ store, clock, mails }: WebDeps,
	state: PeopleState,
): Promise<Response> {
	const programme = programmeOf(c);
	const { role } = viewerOf(c);
	const owners = await listOwners(store.db, programme.id, clock.nowMs());
	const waiting = (await listProgrammeInvitations(store.db, programme.id)).map((invitation) =>
		waitingPerson(invitation, clock.nowMs(), role),
	);
	const view: PeopleView = {
		title: "People",
		active: "people",
		hint: "Who manages this programme. They are mailed when callbacks fail.",
		list: { id: "owners", title: "Owners", caption: "List of owners" },
		invite: { title: "Invite another owner", hint: sayInvitation(role, mails.isOn) },
		people: [...owners, ...waiting],
		path: ownersPath(programme.public_id),
		mayLinkPassword: () => role === "staff",
		mayEnd: (person) => owners.length > 1 || waiting.includes(person),
		ending: {
			action: "remove",
			label: "Remove",
			confirm: (address) =>
				`Remove ${address} from this programme? They are signed out at once, and every link they made stops working.`,
		},
	};
	return answerPeople(c, view, state);
}

function sayInvitation(role: "owner" | "staff", canMail: boolean): string {
	if (role === "staff") return sayStaffInvitation(canMail);
	return canMail
		? "They get a link by mail, and manage the programme once they have accepted."
		: "No mail can be sent from here: once you have invited them, ask the network's staff to hand the link over.";
}

/** All of it was theirs, also what did not belong to this programme. */
function sayLeft({ name }: Programme, { ended }: OwnerRemoved): string {
	const withdrawn = ended === null ? null : sayWithdrawn(ended);
	return `You left ${name}.${withdrawn === null ? "" : ` ${withdrawn}.`}`;
}

function sayRemoved(
	role: "owner" | "staff",
	programme: Programme,
	{ email, name, ended }: OwnerRemoved,
): string {
	if (ended === null) return `The invitation to ${email} was withdrawn.`;
	return sayEnded({ email, name }, role === "staff" ? ended : withinProgramme(ended, programme.id));
}

/**
 * Whether or not they have an account: they look the same until they accept. An invitation that ended because its
 * recipient chose a new password, or lost access elsewhere, would tell an owner that there is such an account: to
 * owners it looks as before until its time is over.
 */
function waitingPerson(
	invitation: ProgrammeInvitation,
	nowMs: number,
	role: "owner" | "staff",
): ListedPerson {
	const isWithdrawn =
		invitation.withdrawn === "with_maker" || (invitation.withdrawn !== null && role === "staff");
	return {
		id: null,
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
