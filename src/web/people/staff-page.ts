// /people: the network's own people. Whoever is deactivated is signed out everywhere at once.

import { invitePerson } from "../../accounts/invitations.ts";
import { deactivateStaff, renewStaffLink } from "../../accounts/staff.ts";
import { type ListedPerson, listStaff } from "../../store/people-list.ts";
import type { WebDeps } from "../deps.ts";
import type { WebContext } from "../env.ts";
import { setFlash } from "../flash.ts";
import { readTextFields } from "../form.ts";
import { STAFF_PATH } from "../paths.ts";
import { makerOf, viewerOf } from "../viewer.ts";
import {
	answerPeople,
	type PeopleState,
	type PeopleView,
	sayEnded,
	sayStaffInvitation,
} from "./people-page.ts";

export function showStaff(c: WebContext, deps: WebDeps): Promise<Response> {
	return answerStaff(c, deps, {});
}

export async function inviteColleague(c: WebContext, deps: WebDeps): Promise<Response> {
	const email = (await readTextFields(c, ["email"])).email.trim();
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
