// The places to which people are invited.

import type { ProgrammeRole } from "./roles.ts";

interface Named {
	id: number;
	name: string;
}

/** A programme, and the role that a person has or is offered there. */
export interface ProgrammePlace {
	kind: "programme";
	programme: Named;
	role: ProgrammeRole;
}

/** A partner that a person signs in for or is invited to sign in for. */
export interface PartnerPlace {
	kind: "partner";
	partner: Named;
	/** The programme that accepted the person's application, or undefined if there was no application. */
	accepted?: Pick<Named, "name"> | undefined;
	/** The conditions of the partner's programmes, for the mail. */
	conditions?: readonly Conditions[] | undefined;
}

/** A place whose own people can invite others. Nobody but staff can invite to the other places. */
export type SharedPlace = ProgrammePlace | PartnerPlace;

export type Place =
	| SharedPlace
	| { kind: "staff" }
	/** A shop's person without a programme. Only the command line makes one. */
	| { kind: "account" };

/** The conditions of a programme for a partner. */
export interface Conditions {
	programmeName: string;
	/** Commissions in words, such as "8 % of the basket". */
	commissions: readonly string[];
	/** Number of days for which a click counts. */
	clickDays: number;
}
