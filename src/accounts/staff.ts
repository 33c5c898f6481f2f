// The network's own people: inviting them, a new link for one who lost theirs, and ending their access.

import type { EndedAccess } from "../domain/ended-access.ts";
import { type Result, refuse, succeed } from "../domain/fault.ts";
import { noteAudit } from "../store/audit.ts";
import { findPersonByPublicId, type Person, setDeactivated } from "../store/people.ts";
import { hasPassword, removeSignIn } from "../store/sign-in.ts";
import type { AccountsDeps } from "./deps.ts";
import { endAccess } from "./end-access.ts";
import {
	type InvitationsDeps,
	type Invited,
	invitePerson,
	renewInvitation,
	takeInvitationTurn,
} from "./invitations.ts";
import { lockLinksAs, type Maker } from "./links.ts";
import { makePasswordLink } from "./password-link.ts";

export async function inviteStaff(
	deps: InvitationsDeps,
	maker: Maker,
	email: string,
): Promise<Result<Invited>> {
	const tooMany = await takeInvitationTurn(deps, maker.personId, email);
	if (tooMany !== null) return { ok: false, fault: tooMany };
	return invitePerson(deps, { email, role: "staff", programme: null, invitedBy: maker });
}

/** For one who has not joined, or was deactivated, to join with; for one who has, to choose a new password with. */
export async function renewStaffLink(
	deps: InvitationsDeps,
	maker: Maker,
	personPublicId: string,
): Promise<Result<Invited>> {
	const person = await findStaff(deps, personPublicId);
	if (person === undefined) return unknownStaff();
	if (await hasPassword(deps.store.db, person.public_id)) return makePasswordLink(deps, maker, person, null);
	const tooMany = await takeInvitationTurn(deps, maker.personId, person.email);
	if (tooMany !== null) return { ok: false, fault: tooMany };
	return renewInvitation(deps, person, maker);
}

/** Password, authenticator, sessions and links go at once; the person stays, because the books name them. */
export async function deactivateStaff(
	{ store, clock }: Pick<AccountsDeps, "store" | "clock">,
	actor: Maker,
	personPublicId: string,
): Promise<Result<{ person: Person; ended: EndedAccess }>> {
	const person = await findStaff({ store }, personPublicId);
	if (person === undefined) return unknownStaff();
	if (person.id === actor.personId) {
		return refuse("not_allowed", "You cannot deactivate your own account. Ask somebody else of the staff.");
	}
	return store.transact(async (trx) => {
		// Whoever asks may have been deactivated a moment ago: two who end each other's access would leave nobody.
		const signedOut = await lockLinksAs(trx, actor);
		if (signedOut !== null) return signedOut;
		const nowMs = clock.nowMs();
		const ended = await endAccess(trx, person, { endedBy: actor.personId, nowMs });
		await removeSignIn(trx, person.public_id);
		await setDeactivated(trx, person.id, nowMs);
		const note = { personId: actor.personId, action: "person.removed", subject: person.email } as const;
		await noteAudit(trx, { ...note, detail: "staff" }, nowMs);
		return succeed({ person, ended });
	});
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
