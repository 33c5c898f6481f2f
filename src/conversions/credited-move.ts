// A move with the partners to whom the conversion is credited before and after it.

import type { Move } from "../domain/conversion.ts";
import type { Credit } from "../domain/credit.ts";
import type { CreditablePartnership, NewMove } from "../store/batch.ts";
import type { Conversion } from "../store/tables/conversions.ts";

export interface CreditedMove {
	move: Move;
	/** The conversion before the move, or null if the move started it. */
	before: Conversion | null;
	after: Conversion;
	creditBefore: Credit | undefined;
	creditAfter: Credit | undefined;
	/** The partnerships of both credits. Undefined for nobody. */
	creditedBefore: CreditablePartnership | undefined;
	creditedAfter: CreditablePartnership | undefined;
}

/**
 * Returns the columns of a move that name the partner who loses the conversion, with the commission that is lost, and the
 * partner who gets it.
 */
export function partnersOf({
	move,
	before,
	creditedBefore,
	creditedAfter,
}: CreditedMove): Pick<NewMove, "lost_partner_id" | "lost_commission" | "gained_partner_id"> {
	if (move !== "credit" || before === null || creditedBefore?.partner_id === creditedAfter?.partner_id)
		return {};
	const lost =
		creditedBefore === undefined
			? {}
			: { lost_partner_id: creditedBefore.partner_id, lost_commission: before.commission };
	return { ...lost, gained_partner_id: creditedAfter?.partner_id ?? null };
}
