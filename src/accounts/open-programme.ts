// Opening a programme from the page: its terms are agreed, and its owner is invited in the same step.

import { refuse, succeed } from "../domain/fault.ts";
import { ID_RANDOM_BYTES, makeId } from "../domain/id.ts";
import { currencyDigits } from "../domain/money.ts";
import { noteAudit } from "../store/audit.ts";
import { findPersonByEmail } from "../store/people.ts";
import { insertProgramme, type Programme } from "../store/programmes.ts";
import { type InvitationsDeps, type Invited, invitePerson } from "./invitations.ts";
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
	// Asked before anything is made: a programme that nobody can look after would be left behind.
	const known = await findPersonByEmail(deps.store.db, email.value);
	if (known !== undefined && known.role !== "owner") {
		return refuseAll(faultsOf(ownerMayNotBeStaff(email.value)));
	}
	const nowMs = deps.clock.nowMs();
	const publicId = input.publicId ?? makeId("prg", nowMs, deps.random.bytes(ID_RANDOM_BYTES));
	const programme = await deps.store.transact(async (trx) => {
		const made = await insertProgramme(trx, programmeRow(publicId, currency, terms.value, nowMs));
		const note = {
			personId: staffId,
			programmeId: made.id,
			action: "programme.created",
			subject: publicId,
		} as const;
		await noteAudit(trx, note, nowMs);
		return made;
	});
	const invited = await invitePerson(deps, {
		email: email.value,
		role: "owner",
		programme,
		invitedBy: staffId,
	});
	return invited.ok ? succeed({ programme, invited: invited.value }) : refuseAll([invited.fault]);
}

function ownerMayNotBeStaff(email: string): ReturnType<typeof refuse> {
	return refuse("email_taken", `${email} cannot own a programme. Use another address.`, "email");
}
