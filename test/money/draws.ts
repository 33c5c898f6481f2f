// What happens in a scenario, drawn from a seed.

import type { SeededRandom } from "../support/seeded-random.ts";
import type { Currency, Rate } from "./arithmetic.ts";
import type { EventType, OwnCommission, ProgrammeRates } from "./model.ts";

const EVENT_TYPES: readonly EventType[] = ["SALE", "SALE", "SALE", "SALE", "LEAD", "SIGNUP"];
/** Percentages that lead to halves of the smallest unit, to long fractions, and to nothing. */
const PERCENTS = ["2.5", "7.5", "12.5", "8", "0.5", "3.3333", "6.6667", "0.0001", "0", "15"] as const;
const FIXED: Readonly<Record<Currency, readonly string[]>> = {
	EUR: ["0", "0", "0.50", "5.00", "1.01"],
	JPY: ["0", "0", "50", "1", "333"],
	KWD: ["0", "0", "0.100", "0.005", "1.001"],
};
export const REASONS = ["RETURN", "CANCELLED", "FRAUD", "CHARGEBACK"] as const;

export class Draws {
	readonly random: SeededRandom;

	constructor(random: SeededRandom) {
		this.random = random;
	}

	rates(currency: Currency): ProgrammeRates {
		const general = { commission: this.#rate(currency), fee: this.#rate(currency) };
		const lead = { commission: this.#fixed(currency), fee: this.#fixed(currency) };
		return { ...general, byType: this.random.chance(0.6) ? { LEAD: lead } : {} };
	}

	commission(currency: Currency): OwnCommission {
		const general = this.random.chance(0.5) ? this.#rate(currency) : null;
		return { general, byType: this.random.chance(0.3) ? { SIGNUP: this.#fixed(currency) } : {} };
	}

	#rate(currency: Currency): Rate {
		return { percent: this.random.pick(PERCENTS), fixed: this.random.pick(FIXED[currency]) };
	}

	#fixed(currency: Currency): Rate {
		return { percent: "0", fixed: this.random.pick(FIXED[currency]) };
	}

	eventType(): EventType {
		return this.random.pick(EVENT_TYPES);
	}

	reason(): string {
		return this.random.pick(REASONS);
	}

	/** Draws a basket: often one whose share is a half of the smallest unit, seldom a huge one or none. */
	basket(eventType: EventType): bigint {
		const { random } = this;
		if (eventType !== "SALE" && random.chance(0.5)) return 0n;
		if (random.chance(0.01)) return 10n ** 12n - BigInt(random.between(1, 1_000_000));
		if (random.chance(0.5)) return 20n * BigInt(2 * random.between(1, 2_000) + 1);
		return BigInt(random.between(1, 200_000));
	}

	/** Draws a part of an amount that is at least 2, which leaves at least 1. */
	partOf(amount: bigint): bigint {
		const share = BigInt(this.random.between(1, 999));
		const drawn = (amount * share) / 1_000n;
		return drawn === 0n ? 1n : drawn;
	}
}
