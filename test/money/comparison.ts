// Collects where the service and the model differ, so that one run shows all differences.

/** Number of differences that a failure names. */
const NAMED = 25;

export class Comparison {
	/** Number of values that were compared. */
	count = 0;
	readonly #differences: string[] = [];

	same(what: string, service: unknown, model: unknown): void {
		this.count++;
		if (service !== model) this.#differences.push(`${what}: ${service}\n    instead of ${model}`);
	}

	/** Compares lists whose order does not matter. */
	sameItems(what: string, service: readonly string[], model: readonly string[]): void {
		this.count += Math.max(service.length, model.length);
		const missing = [...model];
		for (const item of service) {
			const index = missing.indexOf(item);
			if (index === -1) this.#differences.push(`${what}: only the service has ${item}`);
			else missing.splice(index, 1);
		}
		for (const item of missing) this.#differences.push(`${what}: only the model has ${item}`);
	}

	/** Returns what differs, or an empty text. */
	describe(): string {
		const { length } = this.#differences;
		if (length === 0) return "";
		const more = length > NAMED ? [`and ${length - NAMED} more`] : [];
		return [`${length} differences`, ...this.#differences.slice(0, NAMED), ...more].join("\n  ");
	}
}
