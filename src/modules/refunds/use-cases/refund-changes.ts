// The part that refunds have in changes of conversions. It loads the earlier refunds of a conversion and
// inserts the row of a new one.

import type {
	AskedFacts,
	ChangeModule,
	Followed,
	MadeMove,
	ReadFacts,
} from "#core/conversions/change-module.ts";
import type { BatchStore } from "#core/store/batch.ts";
import { keysOf } from "#core/store/module-parts.ts";
import type { Db } from "#core/store/store.ts";
import { REFUNDS_OF_CONVERSION } from "../store/refunds.ts";
import { type NewRefund, REFUNDS } from "../store/tables.ts";

export type RefundStep = Pick<NewRefund, "refund_id" | "amount" | "basket_value" | "reason">;

export type StoredRefund = Pick<NewRefund, "refund_id" | "amount" | "basket_value" | "reason" | "at_ms">;

declare module "#core/conversions/module-facts.ts" {
	interface RequestNeeds {
		/** True for a refund, which depends on the earlier refunds of the conversion. */
		needsRefunds?: true | undefined;
	}
	interface StepParts {
		/** The refund that the step stores. The conversion's change must already contain the amounts that are left. */
		refund?: RefundStep | undefined;
	}
	interface ConversionFacts {
		/** The refunds of the conversion, the oldest first. Earlier ones are missing if no request of the batch needs them. */
		refunds: readonly StoredRefund[];
	}
	interface DecidedParts {
		/** The stored refund, if the request was a refund. */
		refund?: StoredRefund;
	}
}

export const REFUND_CHANGES: ChangeModule = { name: "refunds", tables: [REFUNDS], read, follow };

async function read(db: Db, batch: BatchStore, { requests, lockedIds }: AskedFacts): Promise<ReadFacts> {
	const isRefunding = requests.some(({ needsRefunds }) => needsRefunds === true);
	const found = isRefunding ? await batch.find(db, REFUNDS_OF_CONVERSION, keysOf(lockedIds)) : [];
	const byId = Map.groupBy(found, ({ conversion_id }) => conversion_id);
	return { factsOf: (stored) => ({ refunds: byId.get(stored?.id ?? 0) ?? [] }) };
}

function follow({ after, parts, known }: MadeMove): Followed {
	const { refund } = parts;
	if (refund === undefined) return {};
	const { programme_id, id: conversion_id, updated_at_ms: at_ms } = after;
	const stored = { ...refund, programme_id, conversion_id, person_id: parts.personId ?? null, at_ms };
	return { rows: [REFUNDS.add([stored])], known: { refunds: [...known.refunds, stored] } };
}
