// A link with which somebody chooses a new password, made by the network's staff: for those who lost their mailbox,
// or where no mail can be sent. Owners cannot make one: whoever holds it becomes that person.

import { type Result, refuse, succeed } from "../domain/fault.ts";
import { noteAudit } from "../store/audit.ts";
import type { Person } from "../store/people.ts";
import { composePasswordLinkMail } from "./account-mail.ts";
import type { Actor } from "./deps.ts";
import { type InvitationsDeps, type Invited, makeLink, takeInvitationTurn } from "./invitations.ts";

/** It is handed over by people who are talking to each other, and opens an account that is in use. */
const PASSWORD_LINK_HOURS = 24;

/** For somebody who has a password; it stays until the link is used. The link goes to whoever asked, never by mail. */
export async function makePasswordLink(
	deps: InvitationsDeps,
	actor: Actor,
	person: Person,
	/** Where it was asked for; null on the list of the staff. */
	programmeId: number | null,
): Promise<Result<Invited>> {
	if (actor.role !== "staff") return refuse("not_allowed", sayWhomToAsk(person.email));
	// Whoever finds a browser signed in must not make the account their own.
	if (person.id === actor.personId) return refuse("not_allowed", "Change your own password under Account.");
	const tooMany = await takeInvitationTurn(deps, actor.personId, person.email);
	if (tooMany !== null) return { ok: false, fault: tooMany };
	const link = await deps.store.transact(async (trx) => {
		const note = { personId: actor.personId, programmeId, action: "password.link_made" } as const;
		await noteAudit(trx, { ...note, subject: person.email }, deps.clock.nowMs());
		const lifeMs = PASSWORD_LINK_HOURS * 3_600_000;
		return makeLink(trx, deps, { personId: person.id, madeBy: actor.personId, lifeMs });
	});
	// That there is one, and not the link: the mailbox may be what was lost.
	deps.mails.send(composePasswordLinkMail(person.email));
	return succeed({ person, link, isMailed: deps.mails.isOn, isForPassword: true });
}

function sayWhomToAsk(email: string): string {
	return `${email} has a password already. Whoever forgot theirs chooses a new one on the sign-in page, or asks the network's staff for a link.`;
}
