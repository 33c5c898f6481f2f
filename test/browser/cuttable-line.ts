// A proxy between the browser and the service whose connections can be cut and restored.

import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export async function openCuttableProxy(serviceUrl: string) {
	const { hostname, port } = new URL(serviceUrl);
	const sockets = new Set<Socket>();
	let isCut = false;
	const server = createServer((near) => {
		if (isCut) {
			near.destroy();
			return;
		}
		const far = connect(Number(port), hostname);
		for (const [socket, other] of [
			[near, far],
			[far, near],
		] as const) {
			sockets.add(socket);
			// If one side closes, the other is closed, too. The error itself does not matter.
			socket.on("error", () => undefined);
			socket.on("close", () => {
				sockets.delete(socket);
				other.destroy();
			});
			socket.pipe(other);
		}
	});
	server.listen(0, "127.0.0.1");
	await once(server, "listening");
	const drop = () => {
		for (const socket of sockets) socket.destroy();
	};
	return {
		url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
		cut() {
			isCut = true;
			drop();
		},
		mend() {
			isCut = false;
		},
		async close() {
			const closed = once(server, "close");
			server.close();
			drop();
			await closed;
		},
	};
}
