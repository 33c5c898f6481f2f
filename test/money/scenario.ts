// Three months of a network, drawn from a seed, in the service and in the model. The months include a change of the clocks,
// or end around midnight in Berlin while it is another day in UTC.

import type { RunningService } from "../support/running-service.ts";
import { createSeededRandom } from "../support/seeded-random.ts";
import type { Currency } from "./arithmetic.ts";
import { auditMoney } from "./audit.ts";
import { clocksChangeMs, DAY_MS, HOUR_MS, MINUTE_MS, monthAfter, monthEndMs } from "./berlin.ts";
import { Comparison } from "./comparison.ts";
import { Draws } from "./draws.ts";
import { Driver } from "./driver.ts";
import { type ModelProgramme, MoneyModel } from "./model.ts";
import { MonthEnd } from "./month-end.ts";
import { SalesSteps } from "./sales-steps.ts";

export interface Size {
	/** Number of sales in each programme. */
	sales: number;
	/** Number of random moments in each month at which something happens. */
	moments: number;
}

const PROGRAMMES = [
	{ name: "Euro", currency: "EUR", approvalDays: 3_650, creditsPartners: true },
	{ name: "Yen", currency: "JPY", approvalDays: 14, creditsPartners: true },
	{ name: "Dinar", currency: "KWD", approvalDays: 3_650, creditsPartners: true },
	{ name: "Plain", currency: "EUR", approvalDays: 20, creditsPartners: false },
] as const;
const PARTNERS = ["Ada", "Bob", "Cleo", "Late"] as const;
/** This partner joins in the second month. */
const LATE = "Late";
/** This partner never enters payment details. */
const WITHOUT_DETAILS = "Cleo";
/** First months. A change of the clocks is among the three, and the numbers of statements are of one year. */
const FIRST_MONTHS = ["2026-02", "2026-03", "2026-08", "2026-09"] as const;
const MONTHS = 3;
const MINIMUMS: Readonly<Record<Currency, readonly [string, bigint]>> = {
	EUR: ["25.00", 2_500n],
	JPY: ["1000", 1_000n],
	KWD: ["2.000", 2_000n],
};
/** Time after which everybody signs in again, which is shorter than any session. */
const SIGN_IN_AGAIN_MS = 5 * DAY_MS;
/** Time after which all sales get rates that were changed. A running process may use the former ones for a second. */
const RATES_KNOWN_MS = 5_000;

/** Plays the scenario of a seed, and returns all comparisons. */
export async function playMonths(running: RunningService, seed: number, size: Size): Promise<Comparison> {
	const scenario = new Scenario(running, seed, size);
	try {
		await scenario.play();
	} catch (error) {
		// What differs first is often the reason why a later step is refused.
		throw new Error(`${scenario.comparison.describe()}\nThe scenario stopped.`, { cause: error });
	}
	return scenario.comparison;
}

class Scenario {
	readonly comparison = new Comparison();
	readonly #model = new MoneyModel();
	readonly #driver: Driver;
	readonly #draws: Draws;
	readonly #sales: SalesSteps;
	readonly #monthEnd: MonthEnd;
	readonly #size: Size;
	#momentsDone = 0;
	#signedInAtMs = 0;

	constructor(running: RunningService, seed: number, size: Size) {
		this.#driver = new Driver(running);
		this.#draws = new Draws(createSeededRandom(seed));
		const parts = [this.#driver, this.#model, this.comparison, this.#draws] as const;
		this.#sales = new SalesSteps(...parts);
		this.#monthEnd = new MonthEnd(...parts);
		this.#size = size;
	}

	async play(): Promise<void> {
		const months: string[] = [this.#draws.random.pick(FIRST_MONTHS)];
		while (months.length < MONTHS) months.push(monthAfter(months.at(-1) ?? ""));
		await this.#open(Date.parse(`${months[0]}-01T09:00:00Z`));
		const plan = months.map((month) => this.#momentsIn(month));
		const count = plan.flat().length;
		for (const [index, month] of months.entries()) {
			if (index === 1) await this.#joinLate();
			for (const atMs of plan[index] ?? []) await this.#playMoment(atMs, count);
			await this.#closeMonth(month, index === MONTHS - 1);
		}
	}

	/** Returns moments from the fourth day of a month to two hours after its end, in their order. */
	#momentsIn(month: string): number[] {
		const beginMs = Date.parse(`${month}-04T12:00:00Z`);
		const endMs = monthEndMs(month);
		const [year = 0, number = 0] = month.split("-").map(Number);
		const minutes = Math.floor((endMs - beginMs - DAY_MS) / MINUTE_MS);
		const drawn = Array.from(
			{ length: this.#size.moments },
			() => beginMs + this.#draws.random.between(0, minutes) * MINUTE_MS,
		);
		const aroundChange = ([2, 9] as const).flatMap((at) => {
			const changeMs = clocksChangeMs(year, at);
			return at + 1 === number ? [changeMs - HOUR_MS / 2, changeMs + HOUR_MS / 2] : [];
		});
		// Before and after midnight in Berlin, and before midnight in UTC, when it is the next month in Berlin.
		const utcEndMs = Date.UTC(year, number, 1);
		const aroundEnd = [endMs - 2 * MINUTE_MS, endMs + 2 * MINUTE_MS, utcEndMs - 2 * MINUTE_MS];
		return [...new Set([...drawn, ...aroundChange, ...aroundEnd])].sort((one, other) => one - other);
	}

	async #open(firstDayMs: number): Promise<void> {
		await this.#driver.open(firstDayMs);
		await this.#setMinimums();
		for (const programme of PROGRAMMES) {
			const rates = this.#draws.rates(programme.currency);
			await this.#driver.addProgramme(programme, rates);
			this.#model.addProgramme(programme, rates, this.#driver.nowMs);
		}
		for (const partner of PARTNERS) {
			await this.#driver.addPartner(partner, partner !== WITHOUT_DETAILS);
			if (partner === LATE) continue;
			for (const programme of this.#crediting()) await this.#join(programme, partner);
		}
		await this.#waitForRates();
	}

	/** Sets the minimum payouts. Without one for euros, balances that were carried so far are paid. */
	async #setMinimums(isEuroPaid = false): Promise<void> {
		const chosen = Object.entries(MINIMUMS).filter(([currency]) => !isEuroPaid || currency !== "EUR");
		await this.#driver.setMinimums(new Map(chosen.map(([currency, [text]]) => [currency, text])));
		this.#model.minimums.clear();
		for (const [currency, [, minor]] of chosen) this.#model.minimums.set(currency as Currency, minor);
	}

	async #joinLate(): Promise<void> {
		for (const programme of this.#crediting()) await this.#join(programme, LATE);
		await this.#waitForRates();
	}

	async #join(programme: ModelProgramme, partner: string): Promise<void> {
		const own = this.#draws.commission(programme.currency);
		await this.#driver.join(programme.name, partner, own);
		this.#model.join(programme, partner, own, this.#driver.nowMs);
	}

	#crediting(): ModelProgramme[] {
		return [...this.#model.programmes.values()].filter(({ creditsPartners }) => creditsPartners);
	}

	async #waitForRates(): Promise<void> {
		await this.#driver.moveTo(this.#driver.nowMs + RATES_KNOWN_MS);
	}

	async #playMoment(atMs: number, moments: number): Promise<void> {
		await this.#moveTo(atMs);
		await this.#changeRates();
		const share = (index: number) => Math.round((this.#size.sales * index) / moments);
		const sales = share(this.#momentsDone + 1) - share(this.#momentsDone);
		this.#momentsDone++;
		for (const programme of this.#model.programmes.values()) {
			await this.#sales.report(programme, sales);
			for (let left = sales; left > 0; left--) await this.#sales.act(programme);
		}
		if (this.#draws.random.chance(0.1)) await this.#monthEnd.adjust(this.#draws.random.pick(PARTNERS));
	}

	/** Moves the clock, and waits until the approval windows that ended meanwhile are processed. */
	async #moveTo(atMs: number): Promise<void> {
		await this.#driver.moveTo(Math.max(atMs, this.#driver.nowMs));
		if (this.#driver.nowMs - this.#signedInAtMs > SIGN_IN_AGAIN_MS) {
			await this.#driver.signIn();
			this.#signedInAtMs = this.#driver.nowMs;
		}
		if (!this.#model.hasEndedWindows(this.#driver.nowMs)) return;
		await this.#driver.windowsEnded();
		this.#model.endWindows(this.#driver.nowMs);
	}

	async #changeRates(): Promise<void> {
		const { random } = this.#draws;
		let isChanged = false;
		for (const programme of this.#model.programmes.values()) {
			const { name, currency, members } = programme;
			if (random.chance(0.15)) {
				const rates = this.#draws.rates(currency);
				await this.#driver.setRates(name, rates);
				this.#model.changeRates(programme, rates, this.#driver.nowMs);
				isChanged = true;
			}
			if (members.size > 0 && random.chance(0.15)) {
				const partner = random.pick([...members.keys()]);
				const own = this.#draws.commission(currency);
				await this.#driver.setCommission(name, partner, own);
				this.#model.changeCommission(programme, partner, own, this.#driver.nowMs);
				isChanged = true;
			}
		}
		if (isChanged) await this.#waitForRates();
	}

	async #closeMonth(month: string, isLast: boolean): Promise<void> {
		await this.#moveTo(monthEndMs(month) + 2 * DAY_MS + 10 * HOUR_MS);
		await this.#sales.uploadDecisions(this.#draws.random.pick(this.#crediting()));
		if (isLast) await this.#setMinimums(true);
		await this.#monthEnd.issue(month);
		await this.#monthEnd.pay();
		await this.#driver.settle();
		const names = { conversions: this.#sales.ids, statements: this.#monthEnd.names };
		// A statement never changes, so all of them are compared again at the end.
		await auditMoney(this.#driver, this.#model, this.comparison, names, isLast ? null : month);
	}
}
