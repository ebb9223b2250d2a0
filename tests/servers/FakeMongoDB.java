import de.bwaldvogel.mongo.MongoServer;
import de.bwaldvogel.mongo.backend.memory.MemoryBackend;
import de.bwaldvogel.mongo.bson.Document;
import de.bwaldvogel.mongo.wire.message.MongoMessage;
import io.netty.channel.Channel;
import java.util.Collection;
import java.util.List;
import java.util.Locale;

/** mongo-java-server with the answer to "hello" of other deployments, and with the fail point "failCommand". */
public final class FakeMongoDB extends MemoryBackend {
    private static final int WIRE_VERSION_OF_4_4 = 9;

    private final String address;
    private final String kind;
    private int failures = 0;
    private Document fault = new Document();

    private FakeMongoDB(String address, String kind) {
        this.address = address;
        this.kind = kind;
    }

    public static void main(String[] arguments) {
        int port = Integer.parseInt(arguments[0]);
        new MongoServer(new FakeMongoDB("127.0.0.1:" + port, arguments[1])).bind("127.0.0.1", port);
    }

    @Override
    public Document handleCommand(Channel channel, String database, String name, Document command) {
        Document answer = super.handleCommand(channel, database, name, command);
        return asksForTheRole(name) ? withRole(answer) : answer;
    }

    @Override
    public Document handleMessage(MongoMessage message) {
        Document command = message.getDocument();
        String name = command.keySet().iterator().next();
        if (name.equals("configureFailPoint")) {
            return armed(command);
        }
        if (asksForTheRole(name)) {
            return handleCommand(message.getChannel(), message.getDatabaseName(), "isMaster", command);
        }
        Document struck = struck(name);
        if (struck.containsKey("errorCode")) {
            return new Document("ok", 0).append("code", struck.get("errorCode")).append("errmsg", "a fail point");
        }
        Document answer = super.handleMessage(message);
        answer.putIfNotNull("writeConcernError", struck.get("writeConcernError"));
        return answer;
    }

    private synchronized Document armed(Document command) {
        Object mode = command.get("mode");
        failures = mode instanceof Document ? ((Number) ((Document) mode).get("times")).intValue() : 0;
        fault = failures == 0 ? new Document() : (Document) command.get("data");
        return new Document("ok", 1);
    }

    private synchronized Document struck(String name) {
        if (failures == 0 || !((Collection<?>) fault.get("failCommands")).contains(name)) {
            return new Document();
        }
        failures--;
        return fault;
    }

    private static boolean asksForTheRole(String name) {
        return List.of("hello", "ismaster").contains(name.toLowerCase(Locale.ROOT));
    }

    private Document withRole(Document answer) {
        answer.put("maxWireVersion", WIRE_VERSION_OF_4_4);
        answer.put("isWritablePrimary", true);
        if (kind.equals("sharded")) {
            answer.put("msg", "isdbgrid");
        }
        if (kind.equals("replica-set")) {
            answer.put("setName", "fake");
            answer.put("setVersion", 1);
            answer.put("secondary", false);
            answer.put("hosts", List.of(address));
            answer.put("me", address);
            answer.put("primary", address);
        }
        return answer;
    }
}
