// Places to which people are invited: a programme, a partner, the network's staff, or only an account.

import type { ProgrammeRole } from "./roles.ts";

interface Named {
	id: number;
	name: string;
}

export interface ProgrammePlace {
	kind: "programme";
	programme: Named;
	role: ProgrammeRole;
}

export interface PartnerPlace {
	kind: "partner";
	partner: Named;
	/** The programme that accepted the person's application, or undefined if there was no application. */
	accepted?: Pick<Named, "name"> | undefined;
	/** Conditions of the partner's programmes. The invitation mail contains them. */
	conditions?: readonly Conditions[] | undefined;
}

/** A place whose own people can invite others. Only staff can invite people to all other places. */
export type SharedPlace = ProgrammePlace | PartnerPlace;

export type Place =
	| SharedPlace
	| { kind: "staff" }
	/** An account without a programme. Only the command line creates such an account. */
	| { kind: "account" };

export interface Conditions {
	programmeName: string;
	/** Commissions in words, such as "8 % of the basket". */
	commissions: readonly string[];
	/** Number of days after a click in which a sale is credited to it. */
	clickDays: number;
}
