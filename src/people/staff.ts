// The network's staff: a new link for one who lost theirs, ending their access.

import { type Result, refuse, succeed } from "../domain/fault.ts";
import { noteAudit } from "../store/queries/audit.ts";
import { findPersonByPublicId, type Person, setDeactivated } from "../store/queries/people.ts";
import { removeSignIn } from "../store/queries/sign-in.ts";
import type { AccountsDeps } from "./deps.ts";
import { type EndedAccess, endAccess } from "./end-access.ts";
import { type InvitationsDeps, renewLink, type SentLink } from "./invitations.ts";
import { type Maker, transactAs } from "./links.ts";

export async function renewStaffLink(
	deps: InvitationsDeps,
	maker: Maker,
	publicId: string,
): Promise<Result<SentLink>> {
	const person = await findStaff(deps, publicId);
	return person.ok ? renewLink(deps, maker, person.value, null) : person;
}

/** Password, authenticator, sessions and links go at once; the person stays, because the records name them. */
export async function deactivateStaff(
	{ store, clock }: Pick<AccountsDeps, "store" | "clock">,
	maker: Maker,
	publicId: string,
): Promise<Result<{ person: Person; ended: EndedAccess }>> {
	const found = await findStaff({ store }, publicId);
	if (!found.ok) return found;
	const person = found.value;
	if (person.id === maker.personId) {
		return refuse("not_allowed", "You cannot deactivate your own account. Ask somebody else of the staff.");
	}
	// Whoever asks may have been deactivated a moment ago: two who end each other's access would leave nobody.
	return transactAs(store, maker, async (trx) => {
		const nowMs = clock.nowMs();
		const ended = await endAccess(trx, person, { endedBy: maker.personId, nowMs });
		await removeSignIn(trx, person.public_id);
		await setDeactivated(trx, person.id, nowMs);
		const note = { personId: maker.personId, action: "person.removed", subject: person.email } as const;
		await noteAudit(trx, { ...note, detail: "staff" }, nowMs);
		return succeed({ person, ended });
	});
}

async function findStaff({ store }: Pick<AccountsDeps, "store">, publicId: string): Promise<Result<Person>> {
	const person = await findPersonByPublicId(store.db, publicId);
	if (person?.kind === "staff") return succeed(person);
	return refuse(
		"unknown_person",
		"Nobody of the staff has this account. Reload the page to see who is there.",
	);
}
