// An owner asks somebody to look after the programme with them. It says nothing about who has an account, and
// makes nobody anything, until whoever has the mailbox accepts it: see accept-owner-invitation.

import { type Result, refuse, succeed } from "../domain/fault.ts";
import { ID_RANDOM_BYTES, makeId } from "../domain/id.ts";
import { noteAudit } from "../store/audit.ts";
import {
	type OwnerInvitation,
	removeOwnerInvitations,
	replaceOwnerInvitation,
} from "../store/owner-invitations.ts";
import { findPersonByEmail } from "../store/people.ts";
import { isOwner, type Programme } from "../store/programmes.ts";
import { composeOwnerInvitationMail } from "./account-mail.ts";
import type { AccountsDeps } from "./deps.ts";
import {
	DAY_MS,
	hashToken,
	INVITATION_DAYS,
	type InvitationsDeps,
	type SentInvitation,
	TOKEN_BYTES,
} from "./invitations.ts";
import { parseEmail } from "./people.ts";

export async function inviteAsOwner(
	deps: InvitationsDeps,
	invitedBy: number,
	programme: Programme,
	emailText: string,
	detail: "owner" | "new link" = "owner",
): Promise<Result<SentInvitation>> {
	const parsed = parseEmail(emailText);
	if (!parsed.ok) return parsed;
	const email = parsed.value;
	const token = deps.random.hex(TOKEN_BYTES);
	const invited = await deps.store.transact(async (trx) => {
		const known = await findPersonByEmail(trx, email);
		if (known !== undefined && (await isOwner(trx, programme.id, known.id))) return onListAlready(email);
		const nowMs = deps.clock.nowMs();
		await replaceOwnerInvitation(trx, {
			public_id: makeId("inv", nowMs, deps.random.bytes(ID_RANDOM_BYTES)),
			programme_id: programme.id,
			email,
			token_hash: hashToken(token),
			made_by: invitedBy,
			created_at_ms: nowMs,
			expires_at_ms: nowMs + INVITATION_DAYS * DAY_MS,
		});
		const note = { personId: invitedBy, programmeId: programme.id, action: "person.invited" } as const;
		await noteAudit(trx, { ...note, subject: email, detail }, nowMs);
		return succeed({ isStaff: known?.role === "staff" });
	});
	if (!invited.ok) return invited;
	const link = `${deps.publicUrl}/welcome/programme/${token}`;
	// Staff see every programme and own none: there is nothing to accept, and the owner need not know.
	if (!invited.value.isStaff) {
		const mail = { to: email, link, programmeName: programme.name, validDays: INVITATION_DAYS };
		deps.mails.send(composeOwnerInvitationMail(mail));
	}
	return succeed({ person: { email }, link, isMailed: deps.mails.isOn });
}

export async function withdrawInvitation(
	{ store, clock }: Pick<AccountsDeps, "store" | "clock">,
	personId: number,
	{ programme_id: programmeId, email }: OwnerInvitation,
): Promise<void> {
	await store.transact(async (trx) => {
		if (!(await removeOwnerInvitations(trx, programmeId, email))) return;
		const note = { personId, programmeId, action: "person.removed", subject: email } as const;
		await noteAudit(trx, { ...note, detail: "invitation" }, clock.nowMs());
	});
}

/** Nothing that the list on the same page does not show. */
function onListAlready(email: string): ReturnType<typeof refuse> {
	return refuse("email_taken", `${email} looks after this programme already.`, "email");
}
