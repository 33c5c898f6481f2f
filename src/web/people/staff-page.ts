// /people: the network's own people. Whoever is deactivated is signed out everywhere at once.

import { invitePerson, type SentLink } from "../../accounts/invitations.ts";
import { deactivateStaff, renewStaffLink } from "../../accounts/owners-and-staff.ts";
import type { Fault } from "../../domain/fault.ts";
import { listStaff } from "../../store/people-list.ts";
import { message, padded, pageHeader, section } from "../components/blocks.ts";
import { csrfField } from "../csrf.ts";
import type { WebContext, WebDeps } from "../deps.ts";
import { setFlash } from "../flash.ts";
import type { Content } from "../html.ts";
import { answerPage } from "../page.ts";
import { STAFF_PATH } from "../paths.ts";
import { makerOf, viewerOf } from "../viewer.ts";
import { invitationCard } from "./invitation-card.ts";
import { INVITE_FORM } from "./owners-page.ts";
import { inviteForm, peopleTable, sayEnded, sayStaffInvitation } from "./people-table.ts";

export function showStaff(c: WebContext, deps: WebDeps): Promise<Response> {
	return answerStaff(c, deps, {});
}

export async function inviteColleague(c: WebContext, deps: WebDeps): Promise<Response> {
	const { email } = INVITE_FORM.parse(await c.req.parseBody());
	const invitation = { email, role: "staff", programme: null, invitedBy: makerOf(c) };
	const invited = await invitePerson(deps, invitation);
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

interface StaffState {
	email?: string;
	fault?: Fault;
	invited?: SentLink;
}

async function answerStaff(
	c: WebContext,
	{ store, clock, mails }: WebDeps,
	{ email = "", fault, invited }: StaffState,
): Promise<Response> {
	const people = await listStaff(store.db, clock.nowMs());
	const csrf = csrfField(c);
	const selfId = viewerOf(c).personId;
	const atField = fault?.field === "email" ? fault.detail : undefined;
	const body: Content = [
		pageHeader({
			title: "Staff",
			hint: "They see every programme, review conversions and invite owners. Owners are listed under their programme.",
		}),
		fault === undefined || atField !== undefined ? null : message("bad", fault.detail),
		invited === undefined ? null : invitationCard(invited),
		section({
			id: "staff",
			title: "Accounts",
			body: peopleTable({
				caption: "Staff",
				people,
				path: STAFF_PATH,
				csrf,
				selfId,
				showsAuthenticator: true,
				mayLinkPassword: ({ id }) => id !== selfId,
				mayEnd: ({ id }) => id !== selfId,
				ending: {
					action: "deactivate",
					label: "Deactivate",
					confirm: (address) =>
						`Deactivate ${address}? They are signed out everywhere at once, and every link they made stops working.`,
				},
			}),
		}),
		section({
			id: "invite",
			title: "Invite staff",
			body: padded(
				inviteForm({ path: STAFF_PATH, csrf, email, error: atField, hint: sayStaffInvitation(mails.isOn) }),
			),
		}),
	];
	return answerPage(c, { title: "Staff", active: "staff", status: fault?.httpStatus ?? 200, body });
}
