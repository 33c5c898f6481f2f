// The network's own people: inviting them, a new link for one who lost theirs, and ending their access.

import { type Result, refuse, succeed } from "../domain/fault.ts";
import { noteAudit } from "../store/audit.ts";
import { removeInvitations } from "../store/invitations.ts";
import { findPersonByPublicId, lockStaff, type Person, setDeactivated } from "../store/people.ts";
import { hasPassword, removeSignIn } from "../store/sign-in.ts";
import type { AccountsDeps } from "./deps.ts";
import {
	type InvitationsDeps,
	type Invited,
	invitePerson,
	renewInvitation,
	takeInvitationTurn,
} from "./invitations.ts";
import { makePasswordLink } from "./password-link.ts";

export async function inviteStaff(
	deps: InvitationsDeps,
	staffId: number,
	email: string,
): Promise<Result<Invited>> {
	const tooMany = await takeInvitationTurn(deps, staffId, email);
	if (tooMany !== null) return { ok: false, fault: tooMany };
	const invited = await invitePerson(deps, { email, role: "staff", programme: null, invitedBy: staffId });
	// Somebody who had left and is asked back.
	if (invited.ok) await setDeactivated(deps.store.db, invited.value.person.id, null);
	return invited;
}

/** For one who has not joined, or was deactivated, to join with; for one who has, to choose a new password with. */
export async function renewStaffLink(
	deps: InvitationsDeps,
	staffId: number,
	personPublicId: string,
): Promise<Result<Invited>> {
	const person = await findStaff(deps, personPublicId);
	if (person === undefined) return unknownStaff();
	if (await hasPassword(deps.store.db, person.public_id)) {
		return makePasswordLink(deps, { personId: staffId, role: "staff" }, person, null);
	}
	const tooMany = await takeInvitationTurn(deps, staffId, person.email);
	if (tooMany !== null) return { ok: false, fault: tooMany };
	const renewed = await renewInvitation(deps, person.email, staffId);
	if (renewed.ok) await setDeactivated(deps.store.db, person.id, null);
	return renewed;
}

/** Password, authenticator, sessions and open links go at once; the person stays, because the books name them. */
export async function deactivateStaff(
	{ store, clock }: Pick<AccountsDeps, "store" | "clock">,
	staff: { personId: number; publicId: string },
	personPublicId: string,
): Promise<Result<Person>> {
	const person = await findStaff({ store }, personPublicId);
	if (person === undefined) return unknownStaff();
	if (person.id === staff.personId) {
		return refuse("not_allowed", "You cannot deactivate your own account. Ask somebody else of the staff.");
	}
	const isDone = await store.transact(async (trx) => {
		await lockStaff(trx);
		// Whoever asks was deactivated a moment ago: two who end each other's access would leave nobody.
		if (!(await hasPassword(trx, staff.publicId))) return false;
		const nowMs = clock.nowMs();
		await removeSignIn(trx, person.public_id);
		await removeInvitations(trx, person.id);
		await setDeactivated(trx, person.id, nowMs);
		const note = {
			personId: staff.personId,
			action: "person.removed",
			subject: person.email,
			detail: "staff",
		} as const;
		await noteAudit(trx, note, nowMs);
		return true;
	});
	if (isDone) return succeed(person);
	return refuse("not_allowed", "Your own account was deactivated. Nothing was changed.");
}

async function findStaff(
	{ store }: Pick<AccountsDeps, "store">,
	publicId: string,
): Promise<Person | undefined> {
	const person = await findPersonByPublicId(store.db, publicId);
	return person?.role === "staff" ? person : undefined;
}

function unknownStaff(): ReturnType<typeof refuse> {
	return refuse(
		"unknown_person",
		"Nobody of the staff has this account. Reload the page to see who is there.",
	);
}
