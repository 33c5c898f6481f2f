// Compares the option `basketRule` with the rule of the programme. With another rule every commission would be wrong,
// so nothing is sent while the two differ.

import type { Client } from "@ringback/receiver";
import { Logger } from "@vendure/core";
import { LOG_CONTEXT } from "./log-context";
import type { BasketRule } from "./options";

/** Time after which a rule that was right is compared again. */
const FRESH_MS = 3_600_000;
/** The same if it was wrong, or if the programme could not be read. */
const RETRY_MS = 10_000;

export class RuleCheck {
	private state: "unknown" | "right" | "wrong" = "unknown";
	private dueAtMs = 0;
	private logged = { text: "", atMs: 0 };
	private readonly stopping = new AbortController();

	constructor(
		private readonly client: Pick<Client, "programme">,
		private readonly basketRule: BasketRule,
	) {}

	/** Returns true if calls may be sent. It asks the network from time to time, and soon again if they may not. */
	async allowsSending(): Promise<boolean> {
		if (Date.now() >= this.dueAtMs) await this.compare();
		return this.state === "right";
	}

	/** Compares the rules now, and logs an error if they differ. */
	async compare(): Promise<void> {
		const answer = await this.client.programme({ signal: this.stopping.signal });
		if (!answer.ok) {
			this.dueAtMs = Date.now() + RETRY_MS;
			// A rule that was right an hour ago stays in use. The calls themselves fail if the network is down.
			if (this.state !== "right" && answer.kind !== "aborted") {
				// A wrong key needs a person, and an outage ends by itself.
				const level = answer.kind === "misconfigured" ? "error" : "warn";
				this.log(level, `The programme cannot be read, and nothing is sent until it can: ${answer.detail}`);
			}
			return;
		}
		const { basketRule, basketRuleText } = answer.programme;
		this.state = basketRule === this.basketRule ? "right" : "wrong";
		this.dueAtMs = Date.now() + (this.state === "right" ? FRESH_MS : RETRY_MS);
		if (this.state === "wrong") {
			this.log(
				"error",
				`basketRule is ${this.basketRule} here, but the programme's rule is ${basketRule} (${basketRuleText}). ` +
					"Every commission would be wrong, so nothing is sent to the network until both are the same.",
			);
		}
	}

	/** Logs a sentence, but the same one not more than once an hour. */
	private log(level: "error" | "warn", text: string): void {
		const nowMs = Date.now();
		if (text === this.logged.text && nowMs < this.logged.atMs + FRESH_MS) return;
		this.logged = { text, atMs: nowMs };
		Logger[level](text, LOG_CONTEXT);
	}

	/** Ends a question to the network that has no answer yet. */
	stop(): void {
		this.stopping.abort();
	}
}
