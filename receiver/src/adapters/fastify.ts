// For Fastify 5: app.register(createFastifyReceiver({ url: "/postback", … })).
// As a plugin of its own it has a body parser of its own, which leaves the bytes alone; the rest of the
// application goes on parsing JSON. The path is the one that came, whatever `rewriteUrl` made of it.

import type { NodeRequest, NodeResponse } from "../node-handler.ts";
import { openReceiver, type ReceiverSource } from "../receiver.ts";

export type FastifyReceiverOptions = ReceiverSource & {
	/** The route's path, below the prefix the plugin is registered with. */
	readonly url: string;
};

type FastifyRequest = { readonly raw: NodeRequest };
type FastifyReply = { readonly raw: NodeResponse; hijack(): unknown };

/** What is used of a Fastify instance. */
type FastifyInstance = {
	removeAllContentTypeParsers(): unknown;
	addContentTypeParser(
		contentType: string,
		parse: (request: unknown, payload: unknown, done: (error: null) => void) => void,
	): unknown;
	all(url: string, handle: (request: FastifyRequest, reply: FastifyReply) => Promise<void>): unknown;
};

export function createFastifyReceiver(
	options: FastifyReceiverOptions,
): (instance: FastifyInstance) => Promise<void> {
	const { node } = openReceiver(options);
	const { url } = options;
	return async (instance) => {
		instance.removeAllContentTypeParsers();
		instance.addContentTypeParser("*", (_request, _payload, done) => done(null));
		instance.all(url, (request, reply) => {
			reply.hijack();
			return node(request.raw, reply.raw);
		});
	};
}
