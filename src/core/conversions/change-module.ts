// Interface of a module that takes part in changes of conversions. The module says what it must know before a batch
// is judged, and what follows from a move. Pricing is separate, because it decides the amounts that a conversion
// stores.

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
	 * Reads the facts that the module needs for these requests. A module may run statements only here. Conversions that
	 * the batch may change are already locked, so facts that depend on them are read after the lock.
	 */
	read?(db: Db, batch: BatchStore, asked: AskedFacts): Promise<ReadFacts>;
	/**
	 * Returns what follows from a move. This must be a pure function, because no statement may run between reading and
	 * writing.
	 */
	follow?(made: MadeMove): Followed;
}

/** The requests and conversions for which the facts are read. */
export interface AskedFacts {
	requests: readonly RequestNeeds[];
	/** All conversions that were found, including those that are not locked. */
	conversions: readonly Conversion[];
	lockedIds: readonly number[];
}

export interface ReadFacts {
	batch?: Partial<BatchFacts>;
	/**
	 * Returns the facts that the module knows of a conversion. `stored` is null for a conversion that the batch starts.
	 */
	factsOf(stored: Conversion | null): Partial<ConversionFacts>;
}

export interface MadeMove {
	move: Move;
	/** The conversion before the move, or null if the move started it. */
	before: Conversion | null;
	after: Conversion;
	/** The row of the move, to which earlier modules have added their columns. */
	row: NewMove;
	parts: StepParts;
	/**
	 * Facts before the move (`knownBefore`) and after it (`known`). The latter already include the changes of earlier
	 * modules.
	 */
	knownBefore: ConversionFacts;
	known: ConversionFacts;
	facts: BatchFacts;
}

export interface Followed {
	rows?: readonly AddedRows[];
	columns?: Partial<NewMove>;
	events?: readonly FollowingEvent[];
	/** The module's facts after the move. */
	known?: Partial<ConversionFacts>;
}

export interface FollowingEvent {
	target: CallbackTarget;
	name: EventName;
	body: string;
}

export interface ReportToPrice {
	programme: Programme;
	report: Report;
	needs: Partial<RequestNeeds>;
}

export interface PricedSale {
	rates: Rates;
	/** Rate of the network fee. It is given even if no fee is charged now. */
	fee: Rate;
	parts: StepParts;
	decided: DecidedParts;
}

/** Decides the rates of sales, and which data is stored to price them again later. */
export interface Pricing {
	/** Returns what a report tells the modules, or null if the report can never change the price of its order. */
	needsOf(programme: Programme, report: Report): Partial<RequestNeeds> | null;
	price(reported: ReportToPrice, soldAtMs: number, about: About): PricedSale;
	/** Prices a repeated report. The result may be a step that changes the conversion. */
	priceAgain(
		reported: ReportToPrice,
		present: Conversion,
		about: About,
	): { decided: DecidedParts; step?: Step };
}

/** Modules in the order in which they follow a move, and the pricing. */
export interface ChangeModules {
	modules: readonly ChangeModule[];
	pricing: Pricing;
}
