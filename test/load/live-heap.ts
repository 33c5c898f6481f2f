// How much memory a Node process really needs: what is left on its heap after a collection, asked for through
// its inspector. The resident size also shows how lazily garbage is collected, which says nothing of growth.

import { z } from "zod";

export interface LiveHeap {
	/** Collects garbage in the other process, and tells what is left, buffers outside the heap included. */
	measureBytes(): Promise<number>;
	close(): void;
}

/** Of the inspector, which also says things that nobody asked for. */
const REPLY = z.object({
	id: z.number().optional(),
	result: z.object({ usedSize: z.number().optional(), backingStorageSize: z.number().optional() }).optional(),
});
type Reply = z.infer<typeof REPLY>;

/** `inspectorUrl` is what the process says after "Debugger listening on". */
export async function openLiveHeap(inspectorUrl: string): Promise<LiveHeap> {
	const socket = new WebSocket(inspectorUrl);
	const waiting = new Map<number, PromiseWithResolvers<Reply["result"]>>();
	let calls = 0;
	const opened = Promise.withResolvers<void>();
	socket.addEventListener("open", () => opened.resolve());
	socket.addEventListener("message", ({ data }) => {
		const { id = 0, result } = REPLY.parse(JSON.parse(String(data)));
		waiting.get(id)?.resolve(result);
		waiting.delete(id);
	});
	const fail = (): void => {
		const error = new Error("the inspector hung up");
		opened.reject(error);
		for (const { reject } of waiting.values()) reject(error);
	};
	socket.addEventListener("error", fail);
	socket.addEventListener("close", fail);
	await opened.promise;

	function call(method: string): Promise<Reply["result"]> {
		const id = ++calls;
		const reply = Promise.withResolvers<Reply["result"]>();
		waiting.set(id, reply);
		socket.send(JSON.stringify({ id, method }));
		return reply.promise;
	}

	return {
		async measureBytes() {
			await call("HeapProfiler.collectGarbage");
			const { usedSize, backingStorageSize } = (await call("Runtime.getHeapUsage")) ?? {};
			if (usedSize === undefined || backingStorageSize === undefined) throw new Error("no heap usage");
			return usedSize + backingStorageSize;
		},
		close: () => socket.close(),
	};
}
