// Applies steps to conversions that a test chooses, without judging whether they are allowed.

import { type Changed, changeOrders } from "#core/conversions/change-orders.ts";
import type { InTransaction } from "#core/conversions/deps.ts";
import type { Step } from "#core/conversions/moves.ts";
import type { OrderRequest } from "#core/conversions/order-request.ts";
import type { Db } from "#core/store/store.ts";
import type { Conversion } from "#core/store/tables/conversions.ts";

/** A step and the conversion that it changes. The conversion is null if the step starts one. */
export type GivenStep = Step & { known: Conversion | null };

/** Applies the steps in one batch. Returns the conversions as they are after that. */
export function makeSteps(
	trx: Db,
	deps: InTransaction,
	steps: readonly GivenStep[],
): Promise<Changed<Conversion>> {
	return changeOrders(trx, deps, steps.map(requestFor));
}

function requestFor({ known, ...step }: GivenStep): OrderRequest<Conversion> {
	const judge = () => ({ kind: "move", step, done: (conversion: Conversion) => conversion }) as const;
	const partnershipId = step.credit?.partnershipId ?? undefined;
	if (known !== null) {
		const { id: conversionId, programme_id: programmeId, order_id: orderId, event_type: eventType } = known;
		return { programmeId, orderId, eventType, conversionId, partnershipId, judge };
	}
	if (!("sale" in step)) throw new Error(`${step.move} starts no conversion`);
	const { programme_id: programmeId, order_id: orderId, event_type: eventType } = step.sale;
	return { programmeId, orderId, eventType, partnershipId, judge };
}
