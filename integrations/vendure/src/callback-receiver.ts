// Receives the network's callbacks. Each is stored before it is answered, and then written to its order. Work that fails
// is tried again.

import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from "@nestjs/common";
import type { PostbackEvent } from "@ringback/receiver";
import { createDurableReceiver, type DurableReceiver } from "@ringback/receiver/durable";
import { createExpressReceiver } from "@ringback/receiver/express";
import { Logger, ProcessContext, TransactionalConnection } from "@vendure/core";
import { RingbackCallback } from "./entities";
import { LOG_CONTEXT } from "./log-context";
import { SETTINGS, type Settings } from "./options";
import { SaleState } from "./sale-state";

type Handler = ReturnType<typeof createExpressReceiver>;

/** The handler of the running server. The route is mounted before Vendure creates its services. */
let current: Handler | undefined;

/** The Express handler of the route. It answers 503 until the server has started, and the network sends again. */
export const answerCallback: Handler = async (request, response) => {
	if (current !== undefined) return current(request, response);
	response.writeHead(503, {});
	response.end("");
};

@Injectable()
export class CallbackReceiver implements OnApplicationBootstrap, OnApplicationShutdown {
	private receiver: DurableReceiver | undefined;

	constructor(
		private readonly connection: TransactionalConnection,
		private readonly processContext: ProcessContext,
		private readonly saleState: SaleState,
		@Inject(SETTINGS) private readonly settings: Settings,
	) {}

	onApplicationBootstrap(): void {
		if (!this.processContext.isServer) return;
		this.receiver = createDurableReceiver({
			secret: this.settings.secret,
			brand: this.settings.brand,
			insert: (event) => this.insert(event),
			listOpen: (limit) => this.listOpen(limit),
			markDone: (event) => this.markDone(event),
			onEvent: (event) => this.saleState.noteEvent(event),
			ignoreTests: true,
			onRefused: ({ status, detail }) => Logger.warn(`A callback was answered ${status}: ${detail}`, LOG_CONTEXT),
			onError: (error) => Logger.error(`A callback is tried again: ${error}`, LOG_CONTEXT),
		});
		current = createExpressReceiver(this.receiver);
	}

	async onApplicationShutdown(): Promise<void> {
		current = undefined;
		await this.receiver?.close();
	}

	private async insert(event: PostbackEvent): Promise<"stored" | "seen"> {
		const callbacks = this.callbacks();
		const key = { conversionId: event.conversionId, event: event.event };
		if (await callbacks.existsBy(key)) return "seen";
		// If the same callback arrives twice at once, the unique index refuses the second row. It is answered with 503 and
		// comes again.
		await callbacks.insert({ ...key, body: JSON.stringify(event) });
		return "stored";
	}

	private async listOpen(limit: number): Promise<PostbackEvent[]> {
		const rows = await this.callbacks().find({ where: { isDone: false }, order: { id: "ASC" }, take: limit });
		return rows.map(({ body }) => JSON.parse(body));
	}

	private async markDone({ conversionId, event }: PostbackEvent): Promise<void> {
		await this.callbacks().update({ conversionId, event }, { isDone: true });
	}

	private callbacks() {
		return this.connection.rawConnection.getRepository(RingbackCallback);
	}
}
