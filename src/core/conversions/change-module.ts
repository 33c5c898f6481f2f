// What a module adds to changes of conversions: what it needs to know before a batch is judged, and what follows from a
// move. Pricing is a part of its own, because it decides the amounts that a conversion stores.

import type { Move } from "../domain/conversion.ts";
import type { EventName } from "../domain/event-name.ts";
import type { Rate, Rates } from "../domain/rate.ts";
import type { BatchStore, NewMove } from "../store/batch.ts";
import type { AddedRows, ModuleTable } from "../store/module-parts.ts";
import type { Programme } from "../store/queries/programmes.ts";
import type { CallbackTarget } from "../store/queries/queue.ts";
import type { Db } from "../store/store.ts";
import type { Conversion } from "../store/tables/conversions.ts";
import type { BatchFacts, ConversionFacts, DecidedParts, RequestNeeds, StepParts } from "./module-facts.ts";
import type { Step } from "./moves.ts";
import type { About } from "./order-request.ts";
import type { Report } from "./report.ts";

export interface ChangeModule {
	name: string;
	/** Tables to which the module adds rows. All tables are written in the order of the modules. */
	tables?: readonly ModuleTable[];
	/**
	 * Reads what these requests need. Statements run only here. Conversions that the batch may change are locked, and what
	 * depends on them is read after the lock.
	 */
	read?(db: Db, batch: BatchStore, asked: AskedFacts): Promise<ReadFacts>;
	/** Returns what follows from a move. It is a pure function. */
	follow?(made: MadeMove): Followed;
}

/** What the facts are read for. */
export interface AskedFacts {
	requests: readonly RequestNeeds[];
	/** All conversions that were found, also those that are not locked. */
	conversions: readonly Conversion[];
	lockedIds: readonly number[];
}

export interface ReadFacts {
	batch?: Partial<BatchFacts>;
	/** Returns the module's part of what is known of a conversion. A conversion that the batch starts is null. */
	factsOf(stored: Conversion | null): Partial<ConversionFacts>;
}

/** A move that was made in memory. */
export interface MadeMove {
	move: Move;
	/** The conversion before the move, or null if the move started it. */
	before: Conversion | null;
	after: Conversion;
	/** The row of the move, to which earlier modules have added their columns. */
	row: NewMove;
	parts: StepParts;
	/** What was known before the move, and what is known after it. Earlier modules have changed the latter. */
	knownBefore: ConversionFacts;
	known: ConversionFacts;
	facts: BatchFacts;
}

export interface Followed {
	rows?: readonly AddedRows[];
	/** Columns of the move that the module fills in. */
	columns?: Partial<NewMove>;
	/** Events for receivers other than the shop. */
	events?: readonly FollowingEvent[];
	/** The module's part of what is known after the move. */
	known?: Partial<ConversionFacts>;
}

export interface FollowingEvent {
	target: CallbackTarget;
	name: EventName;
	body: string;
}

/** A report with what it tells the modules. */
export interface ReportToPrice {
	programme: Programme;
	report: Report;
	needs: Partial<RequestNeeds>;
}

export interface PricedSale {
	/** Rates from which the amounts are computed. */
	rates: Rates;
	/** Rate of the network fee, also if none is charged now. */
	fee: Rate;
	parts: StepParts;
	decided: DecidedParts;
}

/** Decides the rates of sales, and what is kept for later. */
export interface Pricing {
	/** Returns what a report tells the modules, or null if it can never change the price of its order. */
	needsOf(programme: Programme, report: Report): Partial<RequestNeeds> | null;
	/** Prices a sale that is recorded or confirmed now. */
	price(reported: ReportToPrice, soldAtMs: number, about: About): PricedSale;
	/** Prices a repeated report. It may lead to a step. */
	priceAgain(
		reported: ReportToPrice,
		present: Conversion,
		about: About,
	): { decided: DecidedParts; step?: Step };
}

/** The modules in the order in which they follow a move, and the pricing. */
export interface ChangeModules {
	modules: readonly ChangeModule[];
	pricing: Pricing;
}
