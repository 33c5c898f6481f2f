// Opening a programme from the page: its terms are agreed, and its owner is invited in the same step.

import { refuse, succeed } from "../domain/fault.ts";
import { ID_RANDOM_BYTES, makeId } from "../domain/id.ts";
import { currencyDigits } from "../domain/money.ts";
import { noteAudit } from "../store/audit.ts";
import { findPersonByEmail } from "../store/people.ts";
import { insertProgramme, type Programme } from "../store/programmes.ts";
import {
	findOrMakePerson,
	type InvitationsDeps,
	type Invited,
	mailInvitation,
	welcomePerson,
} from "./invitations.ts";
import { INVITATIONS_BY_ONE_PERSON, takeTurn } from "./limits.ts";
import { parseEmail } from "./people.ts";
import { type Checked, faultsOf, parseTerms, refuseAll } from "./programme-terms.ts";
import { type ProgrammeInput, programmeRow } from "./programmes.ts";

export interface OpenedProgramme {
	programme: Programme;
	invited: Invited;
}

export async function openProgramme(
	deps: InvitationsDeps,
	staffId: number,
	/** With an id that was chosen before, so that a form sent twice makes one programme. */
	input: ProgrammeInput & { publicId?: string | undefined },
): Promise<Checked<OpenedProgramme>> {
	const currency = input.currency.trim().toUpperCase();
	const digits = currencyDigits(currency);
	const terms = parseTerms(input);
	const email = parseEmail(input.ownerEmail);
	const faults = [...faultsOf(digits), ...(terms.ok ? [] : terms.faults), ...faultsOf(email)];
	if (!terms.ok || !email.ok || faults.length > 0) return refuseAll(faults);
	const known = await findPersonByEmail(deps.store.db, email.value);
	if (known !== undefined && known.role !== "owner") {
		return refuseAll(faultsOf(ownerMayNotBeStaff(email.value)));
	}
	const nowMs = deps.clock.nowMs();
	// Not by address: the owner of ten programmes is mailed ten times.
	const tooMany = await takeTurn(deps.store.db, INVITATIONS_BY_ONE_PERSON, String(staffId), nowMs);
	if (tooMany !== null) return refuseAll([{ ...tooMany, field: "email" }]);
	const publicId = input.publicId ?? makeId("prg", nowMs, deps.random.bytes(ID_RANDOM_BYTES));
	// All or nothing: a programme that nobody can look after must not be left behind.
	const opened = await deps.store.transact(async (trx) => {
		const owner = await findOrMakePerson(trx, deps, email.value, "owner", true);
		if (!owner.ok) return owner;
		const programme = await insertProgramme(trx, programmeRow(publicId, currency, terms.value, nowMs));
		const note = { personId: staffId, programmeId: programme.id, action: "programme.created" } as const;
		await noteAudit(trx, { ...note, subject: publicId }, nowMs);
		const welcomed = await welcomePerson(trx, deps, owner.value, { programme, invitedBy: staffId });
		return succeed({ programme, welcomed });
	});
	if (!opened.ok) return refuseAll([opened.fault]);
	const { programme, welcomed } = opened.value;
	return succeed({ programme, invited: mailInvitation(deps, welcomed, programme) });
}

function ownerMayNotBeStaff(email: string): ReturnType<typeof refuse> {
	return refuse("email_taken", `${email} cannot own a programme. Use another address.`, "email");
}
