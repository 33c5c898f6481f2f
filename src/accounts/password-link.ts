// A link with which somebody chooses a new password, made by the network's staff: for those who lost their mailbox,
// or where no mail can be sent. Owners cannot make one: whoever holds it becomes that person.

import { type Result, refuse, succeed } from "../domain/fault.ts";
import { noteAudit } from "../store/audit.ts";
import type { Person } from "../store/people.ts";
import { type InvitationsDeps, type Invited, takeInvitationTurn } from "./invitations.ts";
import { issueLink, linkPath, type Maker } from "./links.ts";

export async function makePasswordLink(
	deps: InvitationsDeps,
	maker: Maker,
	person: Person,
	/** Where it was asked for; null on the list of the staff. */
	programmeId: number | null,
): Promise<Result<Invited>> {
	if (maker.role !== "staff") return refuse("not_allowed", sayWhomToAsk(person.email));
	// Whoever finds a browser signed in must not make the account their own.
	if (person.id === maker.personId) return refuse("not_allowed", "Change your own password under Account.");
	const tooMany = await takeInvitationTurn(deps, maker.personId, person.email);
	if (tooMany !== null) return { ok: false, fault: tooMany };
	return issuePasswordLink(deps, maker, person, programmeId);
}

/** For somebody who has a password; it stays until the link is used. The link goes to whoever asked, never by mail. */
export async function issuePasswordLink(
	deps: InvitationsDeps,
	/** Null: the command line. */
	maker: Maker | null,
	person: Person,
	programmeId: number | null,
): Promise<Result<Invited>> {
	const issued = await deps.store.transact(async (trx) => {
		const order = { purpose: "password_link", personId: person.id, programmeId, maker } as const;
		const link = await issueLink(trx, deps, order);
		if (!link.ok) return link;
		const personId = maker?.personId ?? null;
		// The person is mailed that there is one, and not the link: the mailbox may be what was lost.
		const note = { personId, programmeId, action: "password.link_made", subject: person.email } as const;
		await noteAudit(trx, note, deps.clock.nowMs());
		return link;
	});
	if (!issued.ok) return issued;
	const link = `${deps.publicUrl}${linkPath(issued.value)}`;
	return succeed({ person, link, isMailed: deps.mails.isOn, isForPassword: true });
}

function sayWhomToAsk(email: string): string {
	return `${email} has a password already. Whoever forgot theirs chooses a new one on the sign-in page, or asks the network's staff for a link.`;
}
