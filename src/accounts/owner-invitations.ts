// An owner asks somebody to look after the programme with them. It says nothing about who has an account, and
// makes nobody anything, until whoever has the mailbox accepts it: see accept-link.

import { type Result, refuse, succeed } from "../domain/fault.ts";
import { noteAudit } from "../store/audit.ts";
import { type Link, removeProgrammeInvitation } from "../store/links.ts";
import { findPersonByEmail } from "../store/people.ts";
import { isOwner, type Programme } from "../store/programmes.ts";
import { composeOwnerInvitationMail } from "./account-mail.ts";
import type { AccountsDeps } from "./deps.ts";
import type { InvitationsDeps, SentInvitation } from "./invitations.ts";
import { INVITATION_DAYS, issueLink, linkPath, lockLinksAs, type Maker } from "./links.ts";
import { parseEmail } from "./people.ts";

export async function inviteAsOwner(
	deps: InvitationsDeps,
	invitedBy: Maker,
	programme: Programme,
	emailText: string,
	detail: "owner" | "new link" = "owner",
): Promise<Result<SentInvitation>> {
	const parsed = parseEmail(emailText);
	if (!parsed.ok) return parsed;
	const email = parsed.value;
	const invited = await deps.store.transact(async (trx) => {
		const signedOut = await lockLinksAs(trx, invitedBy);
		if (signedOut !== null) return signedOut;
		const known = await findPersonByEmail(trx, email);
		if (known !== undefined && (await isOwner(trx, programme.id, known.id))) return onListAlready(email);
		const programmeId = programme.id;
		const order = { purpose: "owner_invitation", email, programmeId, maker: invitedBy } as const;
		const link = await issueLink(trx, deps, order);
		if (!link.ok) return link;
		const note = { personId: invitedBy.personId, programmeId, action: "person.invited" } as const;
		await noteAudit(trx, { ...note, subject: email, detail }, deps.clock.nowMs());
		const url = `${deps.publicUrl}${linkPath(link.value)}`;
		const mail = { to: email, link: url, programmeName: programme.name, validDays: INVITATION_DAYS };
		// Staff see every programme and own none: there is nothing to accept, and the owner need not know.
		const isWithheld = known?.role === "staff";
		await deps.mails.enqueue(trx, { ...composeOwnerInvitationMail(mail), isWithheld });
		return succeed({ person: { email }, link: url, isMailed: deps.mails.isOn });
	});
	deps.mails.wake();
	return invited;
}

/** By anybody who looks after the programme, whoever sent it. */
export async function withdrawInvitation(
	{ store, clock }: Pick<AccountsDeps, "store" | "clock">,
	actor: Maker,
	programmeId: number,
	email: string,
): Promise<Result<true>> {
	return store.transact(async (trx) => {
		const signedOut = await lockLinksAs(trx, actor);
		if (signedOut !== null) return signedOut;
		if (await removeProgrammeInvitation(trx, programmeId, email)) {
			const note = {
				personId: actor.personId,
				programmeId,
				action: "person.removed",
				subject: email,
			} as const;
			await noteAudit(trx, { ...note, detail: "invitation" }, clock.nowMs());
		}
		return succeed(true);
	});
}

/** An invitation that is listed under a programme has an address: that is what it is for. */
export function addressOf({ email }: Link): string {
	if (email === null) throw new Error("an owner's invitation without an address");
	return email;
}

/** Nothing that the list on the same page does not show. */
function onListAlready(email: string): ReturnType<typeof refuse> {
	return refuse("email_taken", `${email} manages this programme already.`, "email");
}
