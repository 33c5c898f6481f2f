// Receives status callbacks, behind your TLS proxy (which names 127.0.0.1 in Host, as nginx does).
// .NET 10: PORT=3000 dotnet run receiver.cs
// Mono: mcs -r:System.Runtime.Serialization receiver.cs && PORT=3000 mono receiver.exe
// Stores each in a file. In production: ASP.NET Core, tables with unique keys.
using System;
using System.Collections.Generic;
using System.Globalization;
using System.IO;
using System.Linq;
using System.Net;
using System.Runtime.Serialization.Json;
using System.Security.Cryptography;
using System.Text;
using System.Threading.Tasks;

public class Postback { public string conversionId, orderId, @event, status; }

static class Receiver
{
    const int MaxBodyBytes = 65536, ToleranceSeconds = 300;
    // One secret, or two with a comma between them while it is being replaced.
    static readonly string[] Secrets =
        (Environment.GetEnvironmentVariable("RINGBACK_SIGNING_SECRET") ?? "")
            .Split(new[] { ',' }, StringSplitOptions.RemoveEmptyEntries);
    static readonly Dictionary<string, long> Nonces = new Dictionary<string, long>();

    static byte[] Bytes(string text) => Encoding.UTF8.GetBytes(text);
    static string Hex(byte[] bytes) => BitConverter.ToString(bytes).Replace("-", "").ToLower();

    static int Receive(HttpListenerRequest request, byte[] body, out string why)
    {
        why = "Only POST is taken here.";
        if (request.HttpMethod != "POST") return 405;
        why = "The body is too large.";
        if (body.Length > MaxBodyBytes) return 413;
        string timestamp = request.Headers["X-Service-Timestamp"];
        string nonce = request.Headers["X-Service-Nonce"] ?? "";
        string signature = (request.Headers["X-Service-Signature"] ?? "").ToLowerInvariant();
        long now = DateTimeOffset.UtcNow.ToUnixTimeSeconds();
        why = "The timestamp or the nonce is missing.";
        if (!long.TryParse(timestamp, NumberStyles.None, null, out long sentAt)) return 401;
        if (nonce == "") return 401;
        why = $"The timestamp is {Math.Abs(now - sentAt)} s away from this server's clock.";
        if (Math.Abs(now - sentAt) > ToleranceSeconds) return 401;

        string digest = Hex(SHA256.Create().ComputeHash(body));
        string signed = string.Join("\n", "POST", request.RawUrl, timestamp, nonce, digest);
        bool isOurs = false;
        foreach (string secret in Secrets)
        {
            string expected = Hex(new HMACSHA256(Bytes(secret)).ComputeHash(Bytes(signed)));
            isOurs |= CryptographicOperations.FixedTimeEquals(Bytes(expected), Bytes(signature));
        }
        why = $"No secret here gives this signature for {request.RawUrl} and {body.Length} bytes.";
        if (!isOurs) return 401;

        var json = new DataContractJsonSerializer(typeof(Postback));
        Postback news;
        why = "The body has no conversionId or no event.";
        try { news = (Postback)json.ReadObject(new MemoryStream(body)); } catch { return 400; }
        if (news?.conversionId == null || news.@event == null) return 400;
        // Hex, so that no id can be a path and no two events share a file name.
        string file = $"postbacks/{Hex(Bytes(news.conversionId))}.{Hex(Bytes(news.@event))}.json";
        lock (Nonces)
        {
            foreach (var used in Nonces.Where(n => n.Value < now).ToList()) Nonces.Remove(used.Key);
            why = "This nonce was used before.";
            if (Nonces.ContainsKey(nonce)) return 401;
            bool isNew = !File.Exists(file); // the same event may come twice
            if (isNew) File.WriteAllBytes(file + ".part", body); // half, on a full disk
            if (isNew) File.Move(file + ".part", file);
            Nonces[nonce] = sentAt + ToleranceSeconds; // not if storing failed: it may come again
            // The slow work, beside the answer. Use a status only if it ranks above yours (rule 8).
            string line = $"{news.@event} {news.conversionId} {news.orderId} {news.status}";
            if (isNew) Task.Run(() => Console.WriteLine(line));
            why = "";
            return 204;
        }
    }

    static async Task Answer(HttpListenerContext context)
    {
        byte[] body = new byte[MaxBodyBytes + 1]; // raw, and awaited: a slow one holds no thread
        int end = 0, read = 1;
        string why;
        try
        {
            for (; read > 0 && end < body.Length; end += read)
                read = await context.Request.InputStream.ReadAsync(body, end, body.Length - end);
            byte[] whole = body.Take(end).ToArray();
            context.Response.StatusCode = Receive(context.Request, whole, out why);
        }
        catch (Exception problem) // 5xx: it is sent again. A 4xx would end the delivery.
        {
            context.Response.StatusCode = 503;
            why = "Not stored: " + problem.Message;
        }
        context.Response.SendChunked = false; // Mono answers chunks in chunks: no 204 has any
        if (why != "")
            Console.Error.WriteLine($"{why} {context.Request.RawUrl} {context.Request.Headers}");
        context.Response.Close(Bytes(why), true); // the page of your programme shows the reason
    }

    static void Main()
    {
        if (Secrets.Length == 0)
        { Console.Error.WriteLine("Set RINGBACK_SIGNING_SECRET."); Environment.Exit(1); }
        Directory.CreateDirectory("postbacks");
        var listener = new HttpListener();
        string port = Environment.GetEnvironmentVariable("PORT") ?? "3000";
        listener.Prefixes.Add($"http://127.0.0.1:{port}/");
        listener.Start();
        while (true) { var context = listener.GetContext(); Task.Run(() => Answer(context)); }
    }
}
