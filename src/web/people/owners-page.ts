// /programmes/:id/people: who looks after the programme; staff and owners alike invite and remove.

import { z } from "zod";
import { inviteOwner, removeProgrammeOwner, renewOwnerLink } from "../../accounts/programme-owners.ts";
import type { Fault } from "../../domain/fault.ts";
import { listOwners } from "../../store/people-list.ts";
import { message, padded, pageHeader, section } from "../components/blocks.ts";
import { csrfField } from "../csrf.ts";
import type { WebContext, WebDeps } from "../deps.ts";
import { setFlash } from "../flash.ts";
import type { Content } from "../html.ts";
import { answerPage } from "../page.ts";
import { frameProgramme } from "../programme-frame.ts";
import { programmeOf, viewerOf } from "../viewer.ts";
import { type InvitationView, invitationCard } from "./invitation-card.ts";
import { inviteForm, peopleTable } from "./people-table.ts";

export const INVITE_FORM = z.object({ email: z.string().trim().default("") });

export function showOwners(c: WebContext, deps: WebDeps): Promise<Response> {
	return answerOwners(c, deps, {});
}

export async function takeOwnerInvitation(c: WebContext, deps: WebDeps): Promise<Response> {
	const { email } = INVITE_FORM.parse(await c.req.parseBody());
	const invited = await inviteOwner(deps, viewerOf(c), programmeOf(c), email);
	// The link is in the answer itself: it is shown this once, and must not pass through an address or a cookie.
	return answerOwners(c, deps, invited.ok ? { invited: invited.value } : { email, fault: invited.fault });
}

export async function takeOwnerLink(c: WebContext, deps: WebDeps): Promise<Response> {
	const personId = c.req.param("personId") ?? "";
	const renewed = await renewOwnerLink(deps, viewerOf(c), programmeOf(c), personId);
	return answerOwners(c, deps, renewed.ok ? { invited: renewed.value } : { fault: renewed.fault });
}

export async function takeOwnerRemoval(c: WebContext, deps: WebDeps): Promise<Response> {
	const programme = programmeOf(c);
	const viewer = viewerOf(c);
	const removed = await removeProgrammeOwner(deps, viewer, programme, c.req.param("personId") ?? "");
	if (!removed.ok) return answerOwners(c, deps, { fault: removed.fault });
	const isSelf = removed.value.id === viewer.personId && viewer.role === "owner";
	setFlash(c, "good", isSelf ? `You left ${programme.name}.` : `${removed.value.email} was removed.`);
	return c.redirect(isSelf ? "/programmes" : `/programmes/${programme.public_id}/people`, 303);
}

interface OwnersState {
	email?: string;
	fault?: Fault;
	invited?: InvitationView;
}

async function answerOwners(
	c: WebContext,
	{ store, clock }: WebDeps,
	{ email = "", fault, invited }: OwnersState,
): Promise<Response> {
	const programme = programmeOf(c);
	const people = await listOwners(store.db, programme.id, clock.nowMs());
	const path = `/programmes/${programme.public_id}/people`;
	const csrf = csrfField(c);
	const atField = fault?.field === "email" ? fault.detail : undefined;
	const body: Content = [
		pageHeader({
			title: "People",
			hint: "Who looks after this programme. They are mailed when callbacks fail.",
		}),
		fault === undefined || atField !== undefined ? null : message("bad", fault.detail),
		invited === undefined ? null : invitationCard(invited),
		section({
			id: "owners",
			title: "Owners",
			body: peopleTable({
				caption: "List of owners",
				people,
				path,
				csrf,
				selfId: null,
				mayEnd: people.length > 1,
				ending: {
					action: "remove",
					label: "Remove",
					confirm: (address) => `Remove ${address} from this programme? They lose access at once.`,
				},
			}),
		}),
		section({
			id: "invite",
			title: "Invite another owner",
			body: padded(inviteForm({ path, csrf, email, error: atField })),
		}),
	];
	return answerPage(c, {
		title: "People",
		active: "people",
		programme: await frameProgramme(store.db, programme),
		status: fault?.httpStatus ?? 200,
		body,
	});
}
