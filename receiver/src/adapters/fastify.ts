// Adapter for Fastify 5: app.register(createFastifyReceiver({ url: "/postback", … })). The plugin has a body
// parser of its own, which leaves the bytes unchanged, while the rest of the application still parses JSON.
// The signature is checked for the path that was received, even if `rewriteUrl` changed it.

import type { NodeRequest, NodeResponse } from "../node-handler.ts";
import { openReceiver, type ReceiverSource } from "../receiver.ts";

export type FastifyReceiverOptions = ReceiverSource & {
	/** Path of the route, relative to the prefix with which the plugin is registered. */
	readonly url: string;
};

type FastifyRequest = { readonly raw: NodeRequest };
type FastifyReply = { readonly raw: NodeResponse; hijack(): unknown };

/** The part of a Fastify instance that the plugin uses. */
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
